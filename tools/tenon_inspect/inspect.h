// SPDX-License-Identifier: MIT
// tenon-inspect: what its files share. Functions that fail throw std::exception with a text.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tenon/interop/files/file_writer.h"
#include "tenon/tenon.h"
#include "tenon/tensor/values.h"

namespace inspect {

/// What is known is JSON from the beginning; texts are made of it.
using Json = nlohmann::ordered_json;

/// An array of a file, or an input or output of a model.
struct Entry {
  /// "name", "role", "dtype", "in file" (the file's own dtype), "shape" with names for open sizes,
  /// "nbytes", perhaps "file" and "note". The dtype is the file's own where tenon does not have it.
  Json about;
  /// Null for inputs, outputs and dtypes that tenon does not have.
  std::function<tenon::Tensor(const tenon::ProgressFunction&)> load = nullptr;
  /// Of such a dtype, the bytes of the elements. Null where there are none to compare.
  std::function<tenon::Tensor()> load_bytes = nullptr;
  bool is_mapped = false;  ///< whether load() reads no element

  bool is_array() const { return about["role"] == "array"; }
  std::string name() const { return about["name"].get<std::string>(); }
};
struct File {
  Json about;  ///< "file", "format", perhaps "metadata"
  std::vector<Entry> entries;
  std::vector<std::string> troubles;  ///< what could not be read of it
};

/// Opens a file, by the end of its name, or a folder of them.
File open_file(const std::string& path);
/// ".npy, .npz, …"
std::string supported_formats();
/// Keeps the entries that the patterns match, in the patterns' order.
void choose(File& file, const std::vector<std::string>& patterns);
/// By "name", "size" (the largest first) or "dtype".
void sort(File& file, const std::string& by);
/// {"arrays", "elements", "nbytes", "dtypes": {dtype: the same}}
Json totals(const std::vector<Entry>& entries);

/// The formats: each adds its entries to the file, and what it knows of the file as a whole.
void open_npy(File& out, const std::string& path);
void open_npz(File& out, const std::string& path);
void open_safetensors(File& out, const std::string& path);
void open_torch(File& out, const std::string& path);
void open_torch_index(File& out, const std::string& path);
void open_gguf(File& out, const std::string& path);
void open_onnx(File& out, const std::string& path);
void open_pte(File& out, const std::string& path);
/// Of the dtype `in_file`; `type` is Undefined where tenon does not have it.
Json describe_array(const std::string& name, tenon::ScalarType type, const std::string& in_file,
                    tenon::ArrayRef<int64_t> sizes, const char* note);
/// The same of several files, each entry with the "file" that it is in.
void open_parts(File& out, const std::vector<std::string>& paths);

/// The tensor's strides and bytes, and with bins >= 0 the statistics of its finite values: of
/// "real" and "imaginary" parts where it is complex. The histogram, unless bins is 0, is of all
/// elements, or of a sample of a million.
Json describe(const tenon::Tensor& tensor, int bins, const tenon::ProgressFunction& on_progress);
/// The first values in row-major order.
Json first_values(const tenon::Tensor& tensor, int64_t count);

/// Where the values are between the least and the largest, from 0 to 1; NaN for what is not finite.
/// Of integers of 64 bits too: their distances are exact.
std::vector<double> places(const tenon::Tensor& tensor, const tenon::MinMax& range);

/// A list of what differs. Values differ where allclose() with equal_nan says so. What cannot be
/// compared is among it, and added to `troubles`.
Json differences(const File& a, const File& b, double rtol, double atol,
                 std::vector<std::string>& troubles);

/// To the standard output, in 24-bit colours on a terminal, else in plain characters.
void print_picture(const tenon::Tensor& tensor);
void write_png(const tenon::Tensor& tensor, const std::string& path);

/// One entry, a line for each of its values.
void print_entry(const Json& about, int indent = 2);
/// A line for each entry. A narrow terminal gets fewer columns.
void print_table(const Json& entries);
void print_totals(const Json& totals);
/// How many of the two files' entries differ, and how.
void print_summary(const Json& differences, const File& a, const File& b);
void print_json(const Json& json);
/// The columns of the terminal that the descriptor is; 0 where it is not one.
size_t terminal_width(int descriptor);
/// The columns that a printable text takes on a terminal.
size_t columns_of(const std::string& text);
/// At most so many columns of a printable text, with "..." for the middle.
std::string shorten(const std::string& text, size_t columns);
/// Text from a file as it is, but for what a terminal could take for a command, or what changes the
/// order of others: that is escaped, as in JSON.
std::string printable(const std::string& text);
/// A value as a table shows it. With `all_digits` different doubles have different texts.
std::string text(const Json& value, bool all_digits = false);
/// "12.5 KiB"
std::string size_text(uint64_t nbytes);
/// A bool, an integer or a double.
Json number(const tenon::Scalar& value);
/// What went wrong, in words of the file: without the names of C++ functions and types.
std::string reason(const std::exception& error);
/// A bar on the standard error if that is a terminal, for much to read.
tenon::ProgressFunction progress_bar(const std::string& label);

}  // namespace inspect
