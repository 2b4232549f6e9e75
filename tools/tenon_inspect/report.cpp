// SPDX-License-Identifier: MIT
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

#include "inspect.h"
#include "tenon/interop/files/named_tensor.h"

namespace inspect {

namespace {

/// A code point of a text.
struct Symbol {
  uint32_t code;
  size_t size;  // in bytes; 0 where they are not UTF-8
};
Symbol symbol_at(const std::string& text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (!tenon::detail::is_utf8(std::string_view(text).substr(at, size))) return {0xfffd, 0};
  uint32_t code = size == 1 ? first : first & (0x7fu >> size);
  for (size_t k = 1; k < size; ++k) {
    code = code << 6 | (static_cast<unsigned char>(text[at + k]) & 0x3f);
  }
  return {code, size};
}

struct Range {
  uint32_t first;
  uint32_t last;
};
template <size_t N>
bool is_in(uint32_t code, const Range (&ranges)[N]) {
  return std::any_of(ranges, ranges + N,
                     [&](const Range& r) { return r.first <= code && code <= r.last; });
}
/// Controls, and characters that change the order of others or take no place.
constexpr Range kUnprintable[] = {{0, 0x1f},        {0x7f, 0x9f},      {0xad, 0xad},
                                  {0x61c, 0x61c},   {0x180e, 0x180e},  {0x200b, 0x200f},
                                  {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                  {0xfff9, 0xfffd}, {0xe0000, 0xe0fff}};
constexpr Range kCombining[] = {
    {0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                           {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                           {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

/// Where bin i of n begins. Of integers exactly, where doubles do not have them.
Json bin_begin(const Json& low, const Json& high, size_t i, size_t n) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const auto is_small = [](const Json& v) { return std::abs(v.get<double>()) < kExact; };
  if (low.is_number_integer() && !(is_small(low) && is_small(high))) {
    const auto bits = [](const Json& v) {
      return v.is_number_unsigned() ? v.get<uint64_t>() : static_cast<uint64_t>(v.get<int64_t>());
    };
    const uint64_t range = bits(high) - bits(low);
    const uint64_t begin = bits(low) + range / n * i + range % n * i / n;
    return low.get<double>() < 0 ? Json(static_cast<int64_t>(begin)) : Json(begin);
  }
  const double first = low.get<double>();
  const double step = (high.get<double>() / 2 - first / 2) / static_cast<double>(n);
  return 2 * (first / 2 + step * static_cast<double>(i));
}

void print_histogram(const Json& h, int indent) {
  const auto counts = h["counts"].get<std::vector<int64_t>>();
  const int64_t most = std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end()));
  std::printf("%*s%-11s of %s values, from\n", indent, "", "histogram", text(h["sampled"]).c_str());
  const size_t width = terminal_width(STDOUT_FILENO);
  const auto rest = static_cast<int64_t>(width) - indent - 26;  // beside both numbers
  const int64_t widest = width == 0 ? 40 : std::clamp<int64_t>(rest, 1, 40);
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto bar_size =
        static_cast<double>(widest) * static_cast<double>(counts[i]) / static_cast<double>(most);
    const std::string bar(static_cast<size_t>(bar_size), '#');
    const Json begin = bin_begin(h["low"], h["high"], i, counts.size());
    std::printf("%*s%13s %s %lld\n", indent, "", text(begin).c_str(), bar.c_str(),
                static_cast<long long>(counts[i]));
  }
}

}  // namespace

size_t columns_of(const std::string& text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Symbol symbol = symbol_at(text, at);
    columns += is_in(symbol.code, kCombining) ? 0 : is_in(symbol.code, kWide) ? 2 : 1;
    at += std::max<size_t>(1, symbol.size);
  }
  return columns;
}

std::string shorten(const std::string& text, size_t columns) {
  if (columns_of(text) <= columns) return text;
  if (columns < 5) return std::string(columns, '.');
  // The begin and the end of a name tell the most. Characters have up to four bytes.
  const size_t rest = columns - 3;
  size_t begin = 0;
  while (begin < 4 * rest) {
    const size_t next = begin + std::max<size_t>(1, symbol_at(text, begin).size);
    if (columns_of(text.substr(0, next)) > rest - rest / 2) break;
    begin = next;
  }
  size_t end = text.size() - std::min(text.size() - begin, 4 * rest);
  for (; end < text.size(); ++end) {
    const bool is_within = (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;
    if (!is_within && columns_of(text.substr(end)) <= rest / 2) break;
  }
  return text.substr(0, begin) + "..." + text.substr(end);
}

size_t terminal_width(int descriptor) {
  if (isatty(descriptor) != 1) return 0;
  winsize size{};
  const bool is_known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

void print_entry(const Json& about, int indent) {
  const size_t width = terminal_width(STDOUT_FILENO);
  size_t key_width = 11;
  for (const auto& [key, value] : about.items()) {
    if (value.is_primitive()) key_width = std::max(key_width, columns_of(printable(key)));
  }
  key_width = std::min<size_t>(key_width, 40);
  for (const auto& [key, value] : about.items()) {
    if (key == "histogram") {
      print_histogram(value, indent);
    } else if (value.is_object()) {
      std::printf("%*s%s\n", indent, "", printable(key).c_str());
      print_entry(value, indent + 2);
    } else if (value != "") {
      std::string line = printable(key);
      line.append(key_width - std::min(key_width, columns_of(line)), ' ');
      line += ' ' + text(value);
      const auto before = static_cast<size_t>(indent);
      if (width > before) line = shorten(line, width - before);
      std::printf("%*s%s\n", indent, "", line.c_str());
    }
  }
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', true, Json::error_handler_t::replace).c_str());
}

std::string printable(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Symbol symbol = symbol_at(text, at);
    if (is_in(symbol.code, kUnprintable)) {
      uint32_t units[2] = {symbol.code, 0};
      if (symbol.code > 0xffff) {
        units[0] = 0xd7c0 + (symbol.code >> 10);
        units[1] = 0xdc00 + (symbol.code & 0x3ff);
      }
      for (const uint32_t unit : units) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", unit);
        if (unit != 0 || &unit == units) out += escaped;
      }
    } else {
      out += text.substr(at, symbol.size);
    }
    at += std::max<size_t>(1, symbol.size);
  }
  return out;
}

std::string text(const Json& value, bool all_digits) {
  if (value.is_string()) return printable(value.get<std::string>());
  if (value.is_null()) return "";
  if (value.is_array()) {
    std::string out;
    for (const Json& item : value) out += (out.empty() ? "" : ", ") + text(item, all_digits);
    return "{" + out + "}";
  }
  const double number = value.is_number_float() ? value.get<double>() : 0;
  // Of what is not finite JSON has null.
  if (!value.is_number_float() || (all_digits && std::isfinite(number))) return value.dump();
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", number);
  return digits;
}

std::string size_text(uint64_t nbytes) {
  if (nbytes < 1024) return std::to_string(nbytes) + " B";
  auto size = static_cast<double>(nbytes);
  const char* unit = "";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = larger;
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.*f %s", size < 99.95 ? 1 : 0, size, unit);
  return digits;
}

std::string reason(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  std::string text = error.what();
  if (dynamic_cast<const tenon::Exception*>(&error) == nullptr) return text;
  // "NpzFile::get: array "a": why; expected this; give a type, such as ScalarType::Byte"
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_of_name);
  if (end != text.begin() && end != text.end() && end[-1] == ':') text.erase(text.begin(), end + 1);
  for (const char* what : {"array \"", "tensor \""}) {
    const size_t name = text.find("\": ");
    if (text.rfind(what, 0) == 0 && name != text.npos) text.erase(0, name + 3);
  }
  for (size_t hint; (hint = text.rfind("; ")) != text.npos;) {
    if (text.find("::", hint) == text.npos && text.find(".h ", hint) == text.npos) break;
    text.resize(hint);
  }
  return text;
}

tenon::ProgressFunction progress_bar(const std::string& label) {
  constexpr uint64_t kMuch = uint64_t{32} << 20;
  const size_t width = terminal_width(STDERR_FILENO);
  if (width == 0) return {};
  constexpr size_t kBar = 25 + 11;  // and the rest of the line
  const size_t room = width > kBar + 8 ? width - kBar : 8;
  const std::string shown_label = shorten(printable(label), std::min<size_t>(40, room));
  return [label = shown_label, shown = std::make_shared<int>(-1)](uint64_t done, uint64_t total) {
    const int percent =
        static_cast<int>(100 * static_cast<double>(done) / static_cast<double>(total));
    if (total < kMuch || percent == *shown) return;
    *shown = percent;
    const std::string bar(static_cast<size_t>(std::min(percent, 100) / 4), '#');
    std::fprintf(stderr, "\r%s [%-25s] %3d %%%s", label.c_str(), bar.c_str(), percent,
                 done < total ? "" : "\r\33[K");
    std::fflush(stderr);
  };
}

}  // namespace inspect
