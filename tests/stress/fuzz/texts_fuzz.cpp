// SPDX-License-Identifier: MIT
// Texts: those of devices, which are read; and those of tensors, for any options, whose numbers are read back.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <tenon/core/device.h>
#include <tenon/tenon.h>

#include "backend/helpers.h"
#include "naive.h"

using namespace tenon;
using fuzz::Bytes;
using fuzz::Numbers;

namespace {

/// Up to `most` bytes, of which some are letters that matter.
std::string take_text(fuzz::Input& in, size_t most) {
  static const char* const kPieces[] = {
      "cpu", "cuda", ":",    "0",  "1",         "999999", "1000000",  "-1",  "%s%n",   "\n",
      "\0",  "\xff", "\x1b", "\"", "cuda_host", "expr",   "template", "trn", "opencl", " "};
  std::string text;
  const size_t count = in.choose(8);
  for (size_t i = 0; i < count; ++i) {
    const size_t piece = in.choose(64);
    if (piece < std::size(kPieces)) {
      text += *kPieces[piece] == '\0' ? std::string(1, '\0') : kPieces[piece];
    } else if (piece < 40) {
      text.append(in.choose(200), in.take<char>());
    } else {
      text += in.take<char>();
    }
  }
  if (text.size() > most) text.resize(most);
  return text;
}

/// The thread's message is a text that ends, after the function's name.
void check_message(const char* function) {
  const std::string_view message = last_error_message();
  FUZZ_CHECK(message.size() < 512 && message.substr(0, std::strlen(function)) == function);
}

void read_device(fuzz::Input& in) {
  static const char* const kNames[] = {
      "cpu",    "cuda",    "cuda_host", "opencl",  "vulkan",       "metal",
      "vpi",    "rocm",    "rocm_host", "ext_dev", "cuda_managed", "oneapi",
      "webgpu", "hexagon", "maia",      "trn",     "expr",         "meta"};
  std::string text = in.flip() ? "" : take_text(in, 300);
  if (in.flip()) {
    text.insert(0, in.choose(12), static_cast<char>('0' + in.choose(10)));
    text.insert(0, ":");
  }
  if (in.choose(8) != 0) text.insert(0, kNames[in.choose(std::size(kNames))]);
  const size_t colon = text.find(':');
  std::string name = text.substr(0, colon);
  if (name == "template") name = "meta";
  bool valid = false;
  for (const char* known : kNames) valid |= name == known;
  int index = 0;
  if (colon != text.npos) {
    const std::string digits = text.substr(colon + 1);
    const bool are_digits = digits.find_first_not_of("0123456789") == digits.npos;
    valid = valid && are_digits && !digits.empty() && digits.size() <= 6;
    if (valid) index = std::atoi(digits.c_str());
    if (name == "cpu" && index != 0) valid = false;
  }
  try {
    const Device device(text);
    FUZZ_CHECK(valid && device.index() == index && toString(device.type()) == name);
    FUZZ_CHECK(Device(device.to_string()) == device);
  } catch (const Exception& e) {
    FUZZ_CHECK(!valid && e.error() == Error::InvalidArgument);
    check_message("Device");
  }
}

int take_option(fuzz::Input& in) {
  constexpr int kOptions[] = {0,  1,    2,  3,         4,         24,           25,
                              80, 1000, -1, INT32_MIN, INT32_MAX, INT32_MAX / 2};
  const size_t choice = in.choose(std::size(kOptions) + 1);
  return choice == std::size(kOptions) ? in.take<int>() : kOptions[choice];
}

/// The numbers that the text shows, as they are read.
std::vector<double> read_numbers(const std::string& text) {
  std::vector<double> numbers;
  for (const char* p = text.c_str(); *p != '\0';) {
    if (std::strchr("[] \nj", *p) != nullptr) {
      ++p;
    } else if (*p == 'T' || *p == 'F') {
      numbers.push_back(*p == 'T' ? 1 : 0);
      p += *p == 'T' ? 4 : 5;
    } else {
      char* end = nullptr;
      numbers.push_back(std::strtod(p, &end));
      FUZZ_CHECK(end != p);
      p = end;
    }
  }
  return numbers;
}

void print_tensor(fuzz::Input& in) {
  const fuzz::NaiveType& type = fuzz::take_type(in);
  Numbers sizes = fuzz::take_sizes(in);
  const Numbers strides = fuzz::take_strides(in, sizes);
  const fuzz::NaiveShape shape = fuzz::compute(sizes, strides, type.size);
  const fuzz::Wide reach = fuzz::Wide{shape.highest} - shape.lowest + 1;
  if (!shape.valid || shape.numel > 300 || reach * type.size > 4096) return;
  fuzz::Block memory(static_cast<size_t>(reach * type.size), in.take<uint8_t>());
  for (size_t i = 0; i < memory.size() && !in.empty(); ++i) {
    memory.data()[i] = static_cast<uint8_t>(memory.data()[i] ^ in.take<uint8_t>());
  }
  const Bytes before = memory.copy();
  FormatOptions options;
  options.edge_items = take_option(in);
  options.limit = in.flip() ? 1000 : in.flip() ? take_option(in) : in.take<int64_t>();
  options.precision = take_option(in);
  options.width = take_option(in);
  TensorPtr tensor = from_blob(memory.data() - shape.lowest * type.size, sizes, strides, type.type);
  const std::string text = to_string(tensor, options);
  FUZZ_CHECK(memory.copy() == before);
  for (const char c : text) FUZZ_CHECK(c == '\n' || (c >= ' ' && c <= '~'));
  FUZZ_CHECK(std::count(text.begin(), text.end(), '[') ==
             std::count(text.begin(), text.end(), ']'));
  const size_t last = text.rfind('\n') + 1;
  FUZZ_CHECK(text.compare(last, std::strlen(toString(type.type)), toString(type.type)) == 0);

  // Negative options count as 0, and a precision above 24 as 24.
  FormatOptions meant = options;
  meant.edge_items = std::max(meant.edge_items, 0);
  meant.limit = std::max<int64_t>(meant.limit, 0);
  meant.precision = std::min(std::max(meant.precision, 0), 24);
  meant.width = std::max(meant.width, 0);
  FUZZ_CHECK(to_string(tensor, meant) == text);

  // What is in a device's memory is fetched from there, and shown alike.
  static tests::MinimalBackend device;
  const auto body = [&](const Tensor& t) {
    const std::string shown = to_string(t, options);
    return shown.substr(0, shown.rfind('\n') + 1);
  };
  const TensorPtr there = backend_copy(tensor, device);
  FUZZ_CHECK(body(*there) == body(*tensor));
  if (!sizes.empty()) {
    FUZZ_CHECK(body(transpose(there, 0, -1)) == body(transpose(tensor, 0, -1)));
  }
  FUZZ_CHECK(device.faults == 0);

  // With all digits the text is the elements.
  meant.limit = INT64_MAX;
  meant.precision = 24;
  const std::string whole = to_string(tensor, meant);
  const std::vector<double> found = read_numbers(whole.substr(0, whole.rfind('\n') + 1));
  if (shape.numel == 0) return;
  const size_t parts = isComplexType(type.type) ? 2 : 1;
  FUZZ_CHECK(found.size() == parts * static_cast<size_t>(shape.numel));
  const Tensor wide =
      to(contiguous(tensor), parts == 2 ? ScalarType::ComplexDouble : ScalarType::Double,
         CastMode::Truncate);
  const auto* const expected = static_cast<const double*>(const_data_ptr(wide));
  ScalarType part = isFloatingType(type.type) ? type.type : ScalarType::Double;
  if (type.type == ScalarType::ComplexHalf) part = ScalarType::Half;
  if (type.type == ScalarType::ComplexFloat) part = ScalarType::Float;
  // What was read is rounded as it would be to be stored.
  const Tensor read = to(to(make_tensor_ptr(found), part), ScalarType::Double);
  for (size_t i = 0; i < found.size(); ++i) {
    const double value = read.const_data_ptr<double>()[i];
    FUZZ_CHECK(std::isnan(expected[i]) ? std::isnan(value) : value == expected[i]);
  }
}

}  // namespace

// A promise of docs/guarantees.md.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input in(data, size);
  if (in.choose(8) == 0) {
    read_device(in);
  } else {
    print_tensor(in);
  }
  return 0;
}
