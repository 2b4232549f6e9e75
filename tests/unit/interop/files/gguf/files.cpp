// SPDX-License-Identifier: MIT
// What test_gguf.py runs:
//   list FILE      a line for each key and tensor, as JSON
//   open FILE...   a line for each file: ok, or the error
//   time FILE N    the microseconds of the best of N times that it was opened
#include <tenon/interop/gguf.h>
#include <tenon/tenon.h>

#include <chrono>
#include <cstdio>
#include <string>

using namespace tenon;

namespace {

std::string hex(const void* data, size_t count) {
  std::string text;
  char digits[3];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += digits;
  }
  return '"' + text + '"';
}
std::string hex(std::string_view text) { return hex(text.data(), text.size()); }

std::string list_of(ArrayRef<int64_t> sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  return text + "]";
}

/// An integer or a flag as a number, others as their bytes.
std::string value_of(const Gguf& file, const GgufEntry& entry) {
  if (entry.type == ScalarType::Undefined) {
    const std::vector<std::string_view> texts = file.get_texts(entry.key).value();
    std::string text;
    for (const std::string_view element : texts) {
      text += (text.empty() ? "" : ",") + hex(element);
    }
    return "[" + text + "]";
  }
  const EValue value = file.get_metadata(entry.key).value();
  if (value.isTensor()) {
    const std::vector<uint8_t> bytes = to_binary(value.toTensor());
    return hex(bytes.data(), bytes.size());
  }
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isBool()) return value.toBool() ? "1" : "0";
  const double number = value.toDouble();
  return hex(&number, sizeof number);
}

int list(const char* path) {
  const Gguf file = Gguf::open(path).value();
  for (const GgufEntry& entry : file.metadata()) {
    std::printf("{\"key\":%s,\"dtype\":\"%s\",\"array\":%d,\"value\":%s}\n", hex(entry.key).c_str(),
                entry.dtype, entry.is_array, value_of(file, entry).c_str());
  }
  for (const GgufInfo& info : file.infos()) {
    const TensorPtr tensor = file.get(info.name).value();
    const std::vector<uint8_t> bytes = to_binary(tensor);
    std::printf(
        "{\"name\":%s,\"dtype\":\"%s\",\"number\":%u,\"type\":\"%s\",\"sizes\":%s,\"shape\":%s,"
        "\"block\":[%u,%u],\"offset\":%llu,\"nbytes\":%llu,\"copied\":%d,\"bytes\":%s}\n",
        hex(info.name).c_str(), info.dtype.c_str(), info.ggml_type, toString(tensor->scalar_type()),
        list_of(info.sizes).c_str(), list_of(tensor->sizes()).c_str(), info.block_size,
        info.block_nbytes, static_cast<unsigned long long>(info.offset),
        static_cast<unsigned long long>(info.nbytes), info.is_copied,
        hex(bytes.data(), bytes.size()).c_str());
  }
  return 0;
}

int time(const char* path, int count) {
  using Clock = std::chrono::steady_clock;
  auto best = Clock::duration::max();
  for (int i = 0; i < count; ++i) {
    const Clock::time_point begin = Clock::now();
    const Gguf file = Gguf::open(path).value();
    best = std::min(best, Clock::now() - begin);
  }
  std::printf("%.1f\n", std::chrono::duration<double, std::micro>(best).count());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  if (what == "list") return list(argv[2]);
  if (what == "time" && argc == 4) return time(argv[2], std::atoi(argv[3]));
  for (int i = 2; i < argc; ++i) {
    const Result<Gguf> file = Gguf::open(argv[i]);
    std::printf("%s\n", file.ok() ? "ok" : file.message());
  }
  return what == "open" ? 0 : 2;
}
