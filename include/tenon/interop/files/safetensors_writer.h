// SPDX-License-Identifier: MIT
// Writes a safetensors file: the header, padded with spaces, and then the elements; the tensors
// with the widest numbers come first.
#pragma once

#include "tenon/interop/files/file_writer.h"
#include "tenon/interop/files/named_tensor.h"
#include "tenon/interop/files/safetensors_header.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The elements of the first tensor begin at a multiple of this many bytes.
inline constexpr size_t kSafeTensorsAlignment = 64;

/// Appends a text as JSON.
/// Errors: InvalidArgument unless it is UTF-8.
inline Error append_json(std::string_view text, std::string& out) {
  if (!is_utf8(text)) {
    return fail(Error::InvalidArgument, "the text \"", ShownText(text).text, "\" is not UTF-8");
  }
  out += nlohmann::json(text).dump();
  return Error::Ok;
}

/// A tensor to write.
struct SafeTensorsEntry {
  const NamedTensor* tensor;
  const SafeTensorsDtype* dtype;
  uint64_t nbytes;
  size_t number_size;
};

/// Checks a tensor, and describes it in `entry`.
inline Error describe_for_safetensors(const NamedTensor& tensor, SafeTensorsEntry& entry) noexcept {
  const ConstTensorArg arg(tensor.tensor);
  TENON_TRY(check_defined(arg, "it"));
  const TensorFields& from = fields(arg);
  MemoryLocation there;
  TENON_TRY(find_location(from, "it", there));
  entry = {&tensor, nullptr, from.nbytes(), number_size(from.type)};
  for (const SafeTensorsDtype& dtype : kSafeTensorsDtypes) {
    if (dtype.type == from.type) entry.dtype = &dtype;
  }
  if (entry.dtype != nullptr) return Error::Ok;
  return fail(Error::NotSupported, "the format has no dtype ", from.type, ", only ",
              kSafeTensorsNames);
}

/// Checks the tensors, and sorts them into the order of the file.
inline Error order_for_safetensors(const std::vector<NamedTensor>& tensors,
                                   std::vector<SafeTensorsEntry>& entries) {
  TENON_TRY(check_names(tensors));
  for (const NamedTensor& tensor : tensors) {
    Error error = describe_for_safetensors(tensor, entries.emplace_back());
    if (error == Error::Ok && tensor.name == "__metadata__") {
      error = fail(Error::InvalidArgument, "the format uses this name for the metadata");
    }
    if (error != Error::Ok) {
      return fail(error, "tensor \"", ShownText(tensor.name).text, "\": ", last_error_message());
    }
  }
  // Comparing the addresses keeps equal tensors in order. Not std::stable_sort: Clang 19 warns that
  // libstdc++'s uses deprecated functions.
  std::sort(
      entries.begin(), entries.end(), [](const SafeTensorsEntry& a, const SafeTensorsEntry& b) {
        return a.number_size != b.number_size ? a.number_size > b.number_size : a.tensor < b.tensor;
      });
  return Error::Ok;
}

/// Formats the header's length and the header, padded with spaces. Sets `data` to the number of
/// bytes that follow.
inline Error format_safetensors_header(const std::vector<SafeTensorsEntry>& entries,
                                       const std::map<std::string, std::string>& metadata,
                                       std::string& out, uint64_t& data) {
  out.assign(8, '\0');
  out += '{';
  for (const auto& [key, value] : metadata) {
    out += out.size() == 9 ? "\"__metadata__\":{" : ",";
    TENON_TRY(append_json(key, out));
    out += ':';
    TENON_TRY(append_json(value, out));
  }
  if (!metadata.empty()) out += '}';
  data = 0;
  for (const SafeTensorsEntry& entry : entries) {
    if (out.size() != 9) out += ',';
    TENON_TRY(append_json(entry.tensor->name, out));
    out.append(":{\"dtype\":\"").append(entry.dtype->name).append("\",\"shape\":[");
    const ConstTensorArg tensor(entry.tensor->tensor);
    const auto sizes = fields(tensor).layout.sizes();
    for (size_t d = 0; d < sizes.size(); ++d) {
      out.append(d == 0 ? "" : ",").append(std::to_string(sizes[d]));
    }
    out.append("],\"data_offsets\":[").append(std::to_string(data)).append(",");
    if (!add(data, entry.nbytes, data))
      return fail(Error::InvalidArgument, "the tensors have more than 2^64 - 1 bytes");
    out.append(std::to_string(data)).append("]}");
  }
  out += '}';
  out.append((kSafeTensorsAlignment - out.size() % kSafeTensorsAlignment) % kSafeTensorsAlignment,
             ' ');
  const uint64_t length = out.size() - 8;
  if (length > kSafeTensorsMaxHeader) {
    return fail(Error::InvalidArgument, "the header has ", length, " bytes, more than ",
                kSafeTensorsMaxHeader);
  }
  for (size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(length >> (8 * i));
  return Error::Ok;
}

/// Writes one tensor's elements.
inline Error write_safetensor(const SafeTensorsEntry& entry, OutputFile& file,
                              Progress& progress) noexcept {
  HostBytes bytes;
  const bool is_swapped = host_is_big_endian() && entry.number_size > 1;
  TENON_TRY(find_host_bytes(ConstTensorArg(entry.tensor->tensor), bytes, is_swapped));
  if (bytes.nbytes != entry.nbytes) {  // a backend's code or on_progress resized the tensor
    return fail(Error::InvalidState, "it was resized while it was written");
  }
  if (is_swapped) {
    swap_byte_order(fields(bytes.copy).data, bytes.nbytes, entry.number_size);
  }
  return file.write(bytes.data, bytes.nbytes, progress);
}

/// `tensors` is a copy: on_progress may change the caller's.
inline Error write_safetensors(const FileTarget& to, std::vector<NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata,
                               const ProgressFunction& on_progress, FileWrite how) {
  std::vector<SafeTensorsEntry> entries;
  TENON_TRY(order_for_safetensors(tensors, entries));
  std::string header;
  uint64_t data = 0;
  TENON_TRY(format_safetensors_header(entries, metadata, header, data));
  OutputFile file;
  Progress progress(on_progress, header.size() + data);
  TENON_TRY(file.open(to, how));
  TENON_TRY(file.write(header.data(), header.size(), progress));
  for (const SafeTensorsEntry& entry : entries) {
    const Error error = write_safetensor(entry, file, progress);
    if (error != Error::Ok) {
      return fail(error, "tensor \"", ShownText(entry.tensor->name).text,
                  "\": ", last_error_message());
    }
  }
  return file.commit(true);
}

}  // namespace detail
TENON_END_NAMESPACE
