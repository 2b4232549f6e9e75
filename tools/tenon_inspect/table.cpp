// SPDX-License-Identifier: MIT
// Tables, in the columns that a terminal has.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "inspect.h"

namespace inspect {

namespace {

struct Column {
  std::string key;
  std::vector<std::string> cells;  // of the heading and each row
  size_t width = 0;
  bool is_dropped = false;
};

std::string cell(const Json& entry, const std::string& key) {
  if (key == "a" || key == "b") {  // which differ
    const Json a = entry.value("a", Json());
    const Json b = entry.value("b", Json());
    return text(key == "a" ? a : b, text(a) == text(b));
  }
  const Json statistics =
      key == "count" ? Json::object() : entry.value("statistics", Json::object());
  const Json value = entry.contains(key) ? entry[key] : statistics.value(key, Json());
  if (key == "nbytes" && value.is_number()) return size_text(value.get<uint64_t>());
  return text(value);
}

/// Each with its gap. Cells may be shortened to `least` columns.
size_t total_width(const std::vector<Column>& columns, size_t least = SIZE_MAX) {
  size_t width = 0;
  for (const Column& column : columns) {
    width += column.is_dropped ? 0 : std::min(column.width, least) + 2;
  }
  return width;
}

/// Leaves columns out, the least telling first, and shortens cells.
void fit(std::vector<Column>& columns, size_t width) {
  const auto drop = [&](const std::string& key, size_t least, bool if_zero = false) {
    for (Column& column : columns) {
      if (column.key != key || total_width(columns, least) <= width) continue;
      const bool is_zero = std::all_of(column.cells.begin() + 1, column.cells.end(),
                                       [](const auto& c) { return c.empty() || c == "0"; });
      column.is_dropped = column.is_dropped || is_zero || !if_zero;
    }
  };
  for (const char* key : {"-inf", "inf", "nan"}) drop(key, SIZE_MAX, true);
  for (const char* key : {"in file", "role", "of"}) drop(key, SIZE_MAX);
  const size_t least = std::max<size_t>(24, width / 3);
  for (const char* key : {"std", "file", "nbytes", "mean", "first", "-inf", "inf", "min", "max",
                          "largest", "count", "note", "head", "nan"}) {
    drop(key, least);
  }
  constexpr size_t kLeast = 6;
  for (size_t total; (total = total_width(columns)) > width;) {
    const auto widest =
        std::max_element(columns.begin(), columns.end(), [](const Column& a, const Column& b) {
          return (a.is_dropped ? 0 : a.width) < (b.is_dropped ? 0 : b.width);
        });
    if (widest->is_dropped || widest->width <= kLeast) return;
    widest->width -= std::min(widest->width - kLeast, total - width);
    for (std::string& cell : widest->cells) cell = shorten(cell, widest->width);
  }
}

std::string with_commas(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3;) out.insert(at -= 3, ",");
  return out;
}

/// "1 array", "2,000 arrays"
std::string counted(const Json& number, const std::string& what) {
  const auto count = number.get<uint64_t>();
  return with_commas(count) + " " + what + (count == 1 ? "" : "s");
}

std::string total_text(const Json& sum) {
  return counted(sum["arrays"], "array") + ", " + counted(sum["elements"], "parameter") + ", " +
         size_text(sum["nbytes"].get<uint64_t>());
}

}  // namespace

void print_table(const Json& entries) {
  std::vector<Column> columns;
  for (const char* key : {"role", "name", "dtype", "shape", "nbytes", "in file", "min",    "max",
                          "mean", "std",  "nan",   "inf",   "-inf",   "head",    "file",   "note",
                          "what", "a",    "b",     "first", "count",  "of",      "largest"}) {
    Column column{key, {key == std::string("nbytes") ? "size" : key}};
    for (const Json& entry : entries) {
      column.cells.push_back(cell(entry, key));
      column.width = std::max(column.width, columns_of(column.cells.back()));
    }
    if (column.width == 0) continue;  // nobody has it
    column.width = std::max(column.width, column.cells[0].size());
    columns.push_back(std::move(column));
  }
  if (const size_t width = terminal_width(STDOUT_FILENO); width != 0) fit(columns, width);
  for (size_t row = 0; row <= entries.size(); ++row) {
    std::string line = "  ";
    for (const Column& column : columns) {
      if (column.is_dropped) continue;
      line += column.cells[row];
      line.append(column.width - columns_of(column.cells[row]) + 2, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
  std::string line = "  not shown:";
  bool has_dropped = false;
  for (const Column& column : columns) {
    if (!column.is_dropped) continue;
    const std::string item = (has_dropped ? ", " : " ") + column.cells[0];
    if (line.size() + item.size() + 1 > terminal_width(STDOUT_FILENO)) {
      std::printf("%s,\n", line.c_str());
      line = "            ";
      line += item.substr(item.find_first_not_of(", "));
    } else {
      line += item;
    }
    has_dropped = true;
  }
  if (has_dropped) std::printf("%s\n", line.c_str());
}

void print_totals(const Json& totals) {
  if (totals["arrays"] == 0) return;
  std::printf("%-11s %s\n", "total", total_text(totals).c_str());
  if (totals["dtypes"].size() == 1) return;
  for (const auto& [dtype, sum] : totals["dtypes"].items()) {
    std::printf("  %-9s %s\n", printable(dtype).c_str(), total_text(sum).c_str());
  }
}

void print_summary(const Json& differences, const File& a, const File& b) {
  size_t differ = 0;
  size_t only_a = 0;
  size_t failed = 0;
  const std::string only_in_a = "only in " + a.about["file"].get<std::string>();
  for (const Json& difference : differences) {
    const Json& what = difference["what"];
    const bool is_only = what.get<std::string>().rfind("only in ", 0) == 0;
    differ += is_only || what == "cannot be compared" ? 0 : 1;
    failed += what == "cannot be compared" ? 1 : 0;
    only_a += what == only_in_a ? 1 : 0;
  }
  const size_t both = a.entries.size() - only_a;
  const size_t only_b = b.entries.size() - both;
  std::string line = "differ      " + with_commas(differ) + " of " + with_commas(both);
  const auto add = [&](size_t count, const char* what) {
    if (count != 0) line += std::string("; ") + what + ": " + with_commas(count);
  };
  add(failed, "cannot be compared");
  add(only_a, "only in the first");
  add(only_b, "only in the second");
  std::printf("%s\n", line.c_str());
}

}  // namespace inspect
