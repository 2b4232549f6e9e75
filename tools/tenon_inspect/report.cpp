// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "inspect.h"

namespace inspect {

namespace {

std::string text(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>());
  if (value.is_null()) return "";
  if (value.is_array()) {
    std::string out;
    for (const Json& item : value) out += (out.empty() ? "" : ", ") + text(item);
    return "{" + out + "}";
  }
  if (!value.is_number_float()) return value.dump();
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value.get<double>());
  return digits;
}

void print_histogram(const Json& h, int indent) {
  const auto counts = h["counts"].get<std::vector<int64_t>>();
  const int64_t most = std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end()));
  const double low = h["low"].get<double>();
  const double step = (h["high"].get<double>() / 2 - low / 2) / static_cast<double>(counts.size());
  std::printf("%*s%-11s of %s values, from\n", indent, "", "histogram", text(h["sampled"]).c_str());
  for (size_t i = 0; i < counts.size(); ++i) {
    const std::string bar(static_cast<size_t>(40 * counts[i] / most), '#');
    std::printf("%*s%13s %s %lld\n", indent, "",
                text(2 * (low / 2 + step * static_cast<double>(i))).c_str(), bar.c_str(),
                static_cast<long long>(counts[i]));
  }
}

}  // namespace

void print_entry(const Json& about, int indent) {
  for (const auto& [key, value] : about.items()) {
    if (key == "histogram") {
      print_histogram(value, indent);
    } else if (value.is_object()) {
      std::printf("%*s%s\n", indent, "", printable(key).c_str());
      print_entry(value, indent + 2);
    } else if (value != "") {
      std::printf("%*s%-11s %s\n", indent, "", printable(key).c_str(), text(value).c_str());
    }
  }
}

void print_table(const Json& entries) {
  std::vector<std::vector<std::string>> columns;
  for (const char* key :
       {"role", "name", "dtype", "shape", "min", "max", "mean", "std", "nan", "inf", "-inf", "note",
        "what", "a", "b", "first", "count", "of", "largest"}) {
    std::vector<std::string> column = {key};
    size_t width = 0;
    for (const Json& entry : entries) {
      const Json statistics = entry.value("statistics", Json::object());
      column.push_back(text(entry.contains(key) ? entry[key] : statistics.value(key, Json())));
      width = std::max(width, column.back().size());
    }
    if (width == 0) continue;  // nobody has it
    width = std::max(width, column[0].size()) + 2;
    for (std::string& cell : column) cell.resize(width, ' ');
    columns.push_back(column);
  }
  for (size_t row = 0; row <= entries.size(); ++row) {
    std::string line = "  ";
    for (const auto& column : columns) line += column[row];
    line.resize(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', true, Json::error_handler_t::replace).c_str());
}

std::string printable(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

tenon::ProgressFunction progress_bar(const std::string& label) {
  constexpr uint64_t kMuch = uint64_t{32} << 20;
  if (isatty(STDERR_FILENO) != 1) return {};
  return
      [label = printable(label), shown = std::make_shared<int>(-1)](uint64_t done, uint64_t total) {
        const int percent =
            static_cast<int>(100 * static_cast<double>(done) / static_cast<double>(total));
        if (total < kMuch || percent == *shown) return;
        *shown = percent;
        const std::string bar(static_cast<size_t>(std::min(percent, 100) / 4), '#');
        std::fprintf(stderr, "\r%.40s [%-25s] %3d %%%s", label.c_str(), bar.c_str(), percent,
                     done < total ? "" : "\r\33[K");
        std::fflush(stderr);
      };
}

}  // namespace inspect
