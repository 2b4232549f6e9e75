// SPDX-License-Identifier: MIT
// tenon-inspect: shapes, statistics and pictures of arrays in files; what differs between two.
#include <getopt.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "inspect.h"

namespace {

using namespace inspect;

enum ExitCode { kEqual = 0, kDifferent = 1, kTrouble = 2 };

// The manual page and the shells' completions have the same options; a test compares them.
constexpr char kHelp[] =
    R"(Usage: tenon-inspect [options] FILE
       tenon-inspect [options] --diff FILE FILE

Shows shapes, statistics and pictures of the arrays in a file, and a model's
inputs and outputs; or what differs between two files. A folder is shown as one
file.

  -l, --list             without statistics, for which all is read
  -n, --name PATTERN     only what has this name: * is any text, ? a character;
                         may be repeated
  -s, --sort KEY         by name, size (the largest first) or dtype
      --head N           the first N values of each array
  -b, --bins N           of the histogram, 10 if not given; 0 leaves it out
  -p, --picture          show the array as a picture
      --png FILE         write the array as a picture to this file
  -d, --diff             compare two files; NaN is equal to NaN
      --rtol X           allow that much relative to the second file's values
      --atol X           allow that much
  -j, --json             print JSON, with null for NaN and infinities
  -h, --help             print this
      --version          print the version

Exit codes: 0 shown, or nothing differs; 1 something differs; 2 trouble.
)";

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> names;
  std::string sort;
  std::string png;
  bool diff = false;
  bool json = false;
  bool only_list = false;
  bool picture = false;
  int bins = -1;  // not given
  int64_t head = -1;
  double rtol = -1;
  double atol = -1;
};

void print_help() {
  std::string formats = "Reads " + supported_formats() + ", and folders of these.";
  for (size_t at = 78; at < formats.size(); at += 78) formats[at = formats.rfind(' ', at)] = '\n';
  std::printf("%s\n%s\n", kHelp, formats.c_str());
}

void complain(const std::string& text) {
  std::fprintf(stderr, "tenon-inspect: %s\n", printable(text).c_str());
}

double parse_number(const char* option, const char* text, double most, bool is_whole) {
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text, &end);
  const bool is_valid = end != text && *end == '\0' && value >= 0 && value <= most;
  if (is_valid && (!is_whole || std::floor(value) == value)) return value;
  throw std::runtime_error(
      std::string("--") + option + " takes " +
      (is_whole ? "a whole number from 0 to " + std::to_string(static_cast<int64_t>(most))
                : "a number from 0") +
      ", not \"" + text + "\"");
}

/// Errors are about options; `is_done` after --help and --version.
Options parse(int argc, char** argv, bool& is_done) {
  enum LongOnly { kPng = 256, kRtol, kAtol, kHead, kVersion };
  static const option kOptions[] = {
      {"list", no_argument, nullptr, 'l'},         {"name", required_argument, nullptr, 'n'},
      {"sort", required_argument, nullptr, 's'},   {"head", required_argument, nullptr, kHead},
      {"bins", required_argument, nullptr, 'b'},   {"picture", no_argument, nullptr, 'p'},
      {"png", required_argument, nullptr, kPng},   {"diff", no_argument, nullptr, 'd'},
      {"rtol", required_argument, nullptr, kRtol}, {"atol", required_argument, nullptr, kAtol},
      {"json", no_argument, nullptr, 'j'},         {"help", no_argument, nullptr, 'h'},
      {"version", no_argument, nullptr, kVersion}, {nullptr, 0, nullptr, 0}};
  constexpr double kInfinity = HUGE_VAL;
  Options out;
  char name[] = "tenon-inspect";
  argv[0] = name;  // in messages
  for (int c; (c = getopt_long(argc, argv, "ln:s:b:pdjh", kOptions, nullptr)) != -1;) {
    switch (c) {
      case 'l': out.only_list = true; break;
      case 'n': out.names.emplace_back(optarg); break;
      case 's': out.sort = optarg; break;
      case kHead: out.head = static_cast<int64_t>(parse_number("head", optarg, 1e6, true)); break;
      case 'b': out.bins = static_cast<int>(parse_number("bins", optarg, 1e4, true)); break;
      case 'p': out.picture = true; break;
      case kPng: out.png = optarg; break;
      case 'd': out.diff = true; break;
      case kRtol: out.rtol = parse_number("rtol", optarg, kInfinity, false); break;
      case kAtol: out.atol = parse_number("atol", optarg, kInfinity, false); break;
      case 'j': out.json = true; break;
      case 'h':
        print_help();
        is_done = true;
        return out;
      case kVersion:
        std::printf("%s\n", TENON_INSPECT_VERSION);
        is_done = true;
        return out;
      default: throw std::runtime_error("");  // getopt_long has said it
    }
  }
  out.files.assign(argv + optind, argv + argc);
  const auto exclude = [](bool a, const char* option, bool b, const char* other) {
    if (a && b) throw std::runtime_error(std::string(option) + " excludes " + other);
  };
  if (out.files.size() != (out.diff ? 2 : 1)) {
    throw std::runtime_error(out.diff ? "--diff takes two files"
                                      : "expected a file; --diff alone takes two");
  }
  if (!out.sort.empty() && out.sort != "name" && out.sort != "size" && out.sort != "dtype") {
    throw std::runtime_error("--sort takes name, size or dtype, not \"" + out.sort + "\"");
  }
  exclude(out.diff, "--diff", out.only_list, "--list");
  exclude(out.diff, "--diff", out.bins >= 0, "--bins");
  exclude(out.diff, "--diff", out.picture, "--picture");
  exclude(out.diff, "--diff", !out.png.empty(), "--png");
  exclude(out.diff, "--diff", out.head >= 0, "--head");
  exclude(out.diff, "--diff", !out.sort.empty(), "--sort");
  exclude(out.only_list, "--list", out.bins >= 0, "--bins");
  exclude(out.json, "--json", out.picture, "--picture");
  exclude(out.picture, "--picture", out.head >= 0, "--head");
  if (!out.diff && (out.rtol >= 0 || out.atol >= 0)) {
    throw std::runtime_error("--rtol and --atol need --diff");
  }
  return out;
}

int show(const Options& options) {
  File file = open_file(options.files[0]);
  choose(file, options.names);
  if (!options.sort.empty()) sort(file, options.sort);
  const bool is_one = file.entries.size() == 1 && file.entries[0].is_array();
  const bool is_picture = options.picture || !options.png.empty();
  if (is_picture && !is_one) {
    throw std::runtime_error("a picture is of one array; --name says of which");
  }
  if (is_picture && !file.entries[0].load) {
    throw std::runtime_error("a picture needs numbers, dtype " +
                             text(file.entries[0].about["dtype"]) + " has none");
  }
  int code = kEqual;
  for (const std::string& trouble : file.troubles) {
    complain(trouble);
    code = kTrouble;
  }
  Json report = file.about;
  report["entries"] = Json::array();
  tenon::Tensor tensor;
  for (const Entry& entry : file.entries) {
    Json about = entry.about;
    try {
      // A list unpacks nothing.
      if (entry.load && (!options.only_list || entry.is_mapped || is_picture)) {
        const tenon::ProgressFunction on_progress = progress_bar(entry.name());
        tensor = entry.load(on_progress);
        const int bins = options.only_list ? -1 : options.bins < 0 ? 10 : options.bins;
        about.update(describe(tensor, bins, on_progress));
        if (options.head >= 0) about["head"] = first_values(tensor, options.head);
      }
    } catch (const std::exception& e) {
      const std::string where = entry.name().empty() ? "" : entry.name() + ": ";
      const std::string what = options.files[0] + ": " + where + reason(e);
      if (is_one) throw std::runtime_error(what);
      complain(what);
      about["note"] = "cannot be read";
      code = kTrouble;
    }
    report["entries"].push_back(about);
    if (!is_one) tensor = tenon::Tensor();
  }
  report["totals"] = totals(file.entries);
  if (!options.png.empty()) write_png(tensor, options.png);
  if (options.json) {
    print_json(report);
    return code;
  }
  print_entry(file.about, 0);
  if (!is_one) {
    print_table(report["entries"]);
    print_totals(report["totals"]);
    return code;
  }
  print_entry(report["entries"][0]);
  if (options.picture) {
    print_picture(tensor);
  } else if (tensor.defined() && options.head < 0) {
    tenon::FormatOptions format;
    if (const size_t width = terminal_width(STDOUT_FILENO); width != 0) {
      format.width = static_cast<int>(width) - 1;
    }
    std::printf("%s\n", to_string(tensor, format).c_str());
  }
  return code;
}

int diff(const Options& options) {
  File files[2];
  std::vector<std::string> troubles;
  for (size_t i = 0; i < 2; ++i) {
    files[i] = open_file(options.files[i]);
    choose(files[i], options.names);
    troubles.insert(troubles.end(), files[i].troubles.begin(), files[i].troubles.end());
  }
  const Json found = differences(files[0], files[1], std::max(options.rtol, 0.0),
                                 std::max(options.atol, 0.0), troubles);
  for (const std::string& trouble : troubles) complain(trouble);
  if (options.json) print_json(found);
  if (!options.json && !found.empty()) {
    print_table(found);
    print_summary(found, files[0], files[1]);
  }
  return !troubles.empty() ? kTrouble : found.empty() ? kEqual : kDifferent;
}

}  // namespace

int main(int argc, char** argv) {
  int code = kTrouble;
  try {
    bool is_done = false;
    const Options options = parse(argc, argv, is_done);
    code = is_done ? kEqual : options.diff ? diff(options) : show(options);
  } catch (const std::exception& e) {
    if (*e.what() != '\0') complain(reason(e));
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    if (errno != EPIPE) complain(std::string("standard output: ") + std::strerror(errno));
    code = kTrouble;
  }
  return code;
}
