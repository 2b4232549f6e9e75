// SPDX-License-Identifier: MIT
#include "tenon/interop/files/torch_pickle.h"

#include <string>

#include "interop/files/torch/pickles.h"
#include "support/catch.h"

namespace torch_pickle_test {

using namespace tenon;
using namespace tests;
using detail::PickleGraph;
using detail::PickleKind;
using namespace std::string_literals;

namespace {

struct Read {
  std::string bytes;  // texts lie in it
  PickleGraph graph;
  uint32_t value = 0;
  Error error = Error::Ok;
  uint64_t end = 0;

  explicit Read(std::string whole) : bytes(std::move(whole)) {
    detail::TorchUnpickler unpickler(reinterpret_cast<const unsigned char*>(bytes.data()), 0,
                                     bytes.size(), graph);
    error = unpickler.read(value);
    end = unpickler.end();
  }
  const detail::PickleValue& made() const { return graph.values[value]; }
};

}  // namespace

TEST_CASE("torch_pickle: numbers, texts and flags") {
  CHECK(Read(pickle("J\xfe\xff\xff\xff")).made().integer == -2);
  CHECK(Read(pickle("K\xff")).made().integer == 255);
  CHECK(Read(pickle("M\xff\xff")).made().integer == 65535);
  CHECK(Read(pickle(std::string("\x8a\0", 2))).made().integer == 0);
  CHECK(Read(pickle("\x8a\1\xff")).made().integer == -1);
  CHECK(Read(pickle(integer(INT64_MIN))).made().integer == INT64_MIN);
  CHECK(Read(pickle("\x8a\x09" + std::string(9, '\1'))).made().kind == PickleKind::LongInt);
  CHECK(Read(pickle("\x8b" + number(2, 4) + "\2\1")).made().integer == 258);
  CHECK(Read(pickle("G\xc0" + std::string(7, '\0'))).made().real == -2);
  CHECK(Read(pickle(text("abc"))).made().view() == "abc");
  CHECK(Read(pickle("\x8c\2xy")).made().view() == "xy");
  CHECK(Read(pickle("\x8d" + number(1, 8) + "z")).made().view() == "z");
  CHECK(Read(pickle("N")).value == PickleGraph::kNone);
  CHECK(Read(pickle("\x88")).value == PickleGraph::kTrue);
}

// A promise of docs/guarantees.md.
TEST_CASE("torch_pickle: values take at most 80 times the pickle's bytes") {
  constexpr size_t kCount = 140'000;  // vectors have just grown
  for (const std::string& part : {"]"s, ")"s, "}"s, "K\1"s, "X\0\0\0\0"s, "N\x85"s, "2"s, "N"s}) {
    std::string many = "N";
    for (size_t i = 0; i < kCount; ++i) many += part;
    const std::string whole = pickle("(" + many + "t");
    const Read read(whole);
    REQUIRE(read.error == Error::Ok);
    const PickleGraph& graph = read.graph;
    CHECK(graph.values.capacity() * sizeof(detail::PickleValue) +
              graph.cells.capacity() * sizeof(detail::PickleCell) + 2 * kCount * sizeof(uint32_t) <=
          80 * whole.size());
  }
}

TEST_CASE("torch_pickle: what is broken is an error with its byte") {
  const std::string cases[] = {"",
                               "\x80",
                               "]",
                               "\x80\2",
                               "\x80\1.",
                               "\x80\6.",
                               "\x80\2.",
                               "\x80\2N",
                               "\x80\2t.",
                               "\x80\2(N.",
                               "\x80\2NN.",
                               "\x80\2h\1.",
                               "\x80\2Nr\xff\xff\xff\xff.",
                               "\x80\2]0a.",
                               "\x80\2Na.",
                               "\x80\2}N.",
                               "\x80\2}(Nu.",
                               "\x80\2NNR.",
                               "\x80\2NQ.",
                               "\x80\2c"
                               "a.",
                               "\x80\2NN\x93.",
                               "\x80\2X\xff\xff\xff\xff.",
                               "\x80\2\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
                               "\x80\2\x85."};
  for (const std::string& bytes : cases) {
    const Read read(bytes);
    INFO(bytes);
    CHECK(read.error == Error::InvalidArgument);
    CHECK(std::string(last_error_message()).find("byte ") != std::string::npos);
  }
  CHECK(Read("\x80\2I1\n.").error == Error::NotSupported);
  CHECK(std::string(last_error_message()).find("opcode 73") != std::string::npos);
}

}  // namespace torch_pickle_test
