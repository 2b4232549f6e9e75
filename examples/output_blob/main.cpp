// SPDX-License-Identifier: MIT
// How tenon meets an engine that has its own buffers, with padded rows (legacy_engine.h). Each
// buffer is described once, as a Blob. Then copy_to() writes tensors into the engine, assign()
// fills tensors that were allocated in advance from it, and none of that allocates.
//
//     output_blob [folder with images.npy]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "count_allocations.h"
#include "legacy_engine.h"
#include "tenon/interop/npy.h"
#include "tenon/tenon.h"

using tenon::assign;
using tenon::Blob;
using tenon::CastMode;
using tenon::check;
using tenon::copy_to;
using tenon::Error;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::TensorPtr;

constexpr int64_t kSide = 8;    // of an image of a digit
constexpr int64_t kDigits = 3;  // on a page, side by side
constexpr int64_t kWidth = kDigits * kSide;

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("not as expected: ") + what);
}

std::shared_ptr<legacy_engine> open_engine() {
  std::shared_ptr<legacy_engine> engine(legacy_open(kWidth, kSide), legacy_close);
  expect(engine != nullptr, "memory for the engine");
  return engine;
}

/// The engine, its buffers as blobs, and a tensor for everything that it gives.
struct Filter {
  std::shared_ptr<legacy_engine> engine = open_engine();

  int64_t in_row = static_cast<int64_t>(engine->input_pitch);
  int64_t out_row = static_cast<int64_t>(engine->response_pitch / sizeof(float));
  Blob input = Blob::of(engine->input, {kSide, kWidth}, {in_row, 1});
  // With the pitch in bytes, as the engine has it.
  Blob response =
      Blob::from_byte_strides(engine->response, {kSide, kWidth},
                              {engine->response_pitch, sizeof(float)}, ScalarType::Float)
          .value();
  // The input again, as tiles: a digit starts 8 pixels after the one before it.
  Blob tiles = Blob::of(engine->input, {kDigits, kSide, kSide}, {kSide, in_row, 1});

  TensorPtr ink = tenon::empty({kWidth}, ScalarType::Int);
  TensorPtr blurred = tenon::empty({kSide, kWidth}, ScalarType::Byte);
  TensorPtr edges = tenon::empty({kSide, kWidth}, ScalarType::Float);
  TensorPtr half = tenon::empty({kSide, kWidth}, ScalarType::Half);

  /// Smooths a page of digits × 8 × 8 pixels, and finds the edges in what comes out.
  void run(const Tensor& page) {
    check(copy_to(page, tiles));  // contiguous digits into strided tiles of padded rows
    legacy_blur(engine.get());
    check(assign(ink, engine->profile, kWidth * sizeof(int)));  // contiguous: the bytes suffice
    check(assign(blurred, response, CastMode::Saturate));       // Float in [0, 256] to Byte
    check(copy_to(blurred, input));                             // the way back
    legacy_edges(engine.get());
    check(assign(edges, response));  // padded rows of Float
    check(assign(half, response));   // the same as a model may want it
  }

  /// Compares every element with where the engine has it; `page` is what was run last.
  void compare(const Tensor& page) const {
    const auto b = blurred->accessor<const uint8_t, 2>();
    const auto e = edges->accessor<const float, 2>();
    const auto h = half->accessor<const tenon::Half, 2>();
    int64_t total = 0;
    for (const int column : ink->data<const int>()) total += column;
    for (const uint8_t pixel : page.data<const uint8_t>()) total -= pixel;
    expect(total == 0, "the ink of a page");
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kWidth; ++x) {
        const float value = engine->response[y * out_row + x];
        expect(b[y][x] == engine->input[y * in_row + x], "a blurred pixel");
        expect(e[y][x] == value, "an edge");
        expect(static_cast<float>(h[y][x]) == value, "an edge as Half, which holds it exactly");
      }
    }
    expect(legacy_padding_is_intact(engine.get()) != 0, "the padding of the engine's rows");
  }
};

void draw(const char* caption, const TensorPtr& picture, float brightest) {
  const Tensor values = tenon::to(picture, ScalarType::Float);  // itself, if it is Float already
  const auto rows = values.accessor<const float, 2>();
  std::printf("\n  %s\n", caption);
  for (int64_t y = 0; y < rows.size(0); ++y) {
    std::printf("  ");
    for (int64_t x = 0; x < rows.size(1); ++x) {
      const char mark = " .:-=+*#%@"[std::min(9, static_cast<int>(rows[y][x] / brightest * 10))];
      std::printf("%c%c", mark, mark);
    }
    std::printf("\n");
  }
}

/// Prints what tenon says to a call that is wrong.
void mistake(const char* what, Error error) {
  expect(error != Error::Ok, what);
  std::printf("  %s\n    %s\n", what, tenon::last_error_message());
}

void make_mistakes(const Filter& f) {
  const legacy_engine& engine = *f.engine;
  std::printf("\n  The usual mistakes, after which nothing has changed:\n\n");
  mistake("the buffer's bytes, padding and all",
          assign(f.edges, engine.response, kSide * engine.response_pitch));
  mistake("width before height", assign(f.edges, Blob::of(engine.response, {kWidth, kSide})));
  Blob doubles = f.response;
  doubles.dtype = ScalarType::Double;
  doubles.element_size = sizeof(*engine.response);  // what the code says can be checked
  mistake("floats taken for doubles", assign(f.edges, doubles));
  mistake("floats for bytes, without a word on how", assign(f.blurred, f.response));
  Blob lent = f.response;
  lent.readonly = true;
  mistake("writing to a buffer that is for reading", copy_to(f.edges, lent));
  mistake("writing through a tensor over one", assign(tenon::from_blob(lent), f.response));
  Blob narrow = f.response;
  narrow.strides = {kWidth / 2, 1};
  mistake("rows closer than they are long", copy_to(f.edges, narrow));
  mistake("a buffer that is not there",
          assign(f.edges, Blob::of(nullptr, {kSide, kWidth}, ScalarType::Float)));
  mistake("memory of a GPU",
          assign(f.edges, Blob{engine.response, {kSide, kWidth}, {}, ScalarType::Float, "cuda:0"}));
  mistake("a tensor that was never made", assign(TensorPtr(), f.response));
}

int run(const std::string& folder) {
  const TensorPtr images = tenon::read_npy(folder + "/images.npy");
  Filter filter;
  // Would it work at all? Asked once, before any data flow.
  if (!tenon::can_assign(filter.edges, filter.response))
    throw std::runtime_error(tenon::last_error_message());

  std::vector<Tensor> pages;  // views: nothing is copied here
  for (int64_t i = 0; i + kDigits <= images->size(0); i += kDigits) {
    pages.push_back(tenon::narrow(images, 0, i, kDigits));
  }
  int64_t ink = 0;
  for (const Tensor& page : pages) {
    filter.run(page);
    filter.compare(page);
    for (const int column : filter.ink->data<const int>()) ink += column;
  }

  // Once more, for the time and the allocations.
  const long allocations_before = count_allocations();
  const auto start = std::chrono::steady_clock::now();
  for (const Tensor& page : pages) filter.run(page);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  const long allocations = count_allocations() - allocations_before;

  filter.run(pages[0]);
  draw("The first page, smoothed by the engine:", filter.blurred, 256);
  draw("Its edges:", filter.edges, 1020);
  make_mistakes(filter);
  filter.compare(pages[0]);

  // A view of the engine's output, which keeps the engine open when nobody else does.
  TensorPtr live = tenon::from_blob(filter.response, std::move(filter.engine));
  expect(legacy_count() == 1, "the engine stays open");
  expect(live->const_data_ptr() == filter.response.data, "the view copies nothing");
  expect(tenon::to_binary(live) == tenon::to_binary(filter.edges), "the view's elements");
  live.reset();
  expect(legacy_count() == 0, "the engine is closed with its last user");

  std::printf("\n  %d pages, %d units of ink, %.2f us a page in the engine and out again\n",
              static_cast<int>(pages.size()), static_cast<int>(ink),
              time.count() / static_cast<double>(pages.size()));
  if (allocations_before < 0) {
    std::printf("  heap allocations: not counted on this platform\n");
  } else {
    std::printf("  heap allocations: %ld\n", allocations);
  }
  return allocations == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : DIGITS_DATA_DIR);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "output_blob: %s\n", error.what());
    return 1;
  }
}
