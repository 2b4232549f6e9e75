// SPDX-License-Identifier: MIT
// tenon-inspect: shapes, statistics and pictures of arrays in files; what differs between two.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "inspect.h"

namespace {

using namespace inspect;

enum ExitCode { kEqual = 0, kDifferent = 1, kTrouble = 2 };

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> names;
  std::string png;
  bool diff = false;
  bool json = false;
  bool only_list = false;
  bool picture = false;
  int bins = 10;
  double rtol = 0;
  double atol = 0;
};

void complain(const std::string& text) {
  std::fprintf(stderr, "tenon-inspect: %s\n", printable(text).c_str());
}

int show(const Options& options) {
  const File file = open_file(options.files[0], options.names);
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
        about.update(describe(tensor, options.only_list ? -1 : options.bins, on_progress));
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
  }
  if (!options.png.empty()) write_png(tensor, options.png);
  if (options.json) {
    print_json(report);
    return code;
  }
  print_entry(file.about, 0);
  if (!is_one) {
    print_table(report["entries"]);
    return code;
  }
  print_entry(report["entries"][0]);
  if (options.picture) {
    print_picture(tensor);
  } else if (tensor.defined()) {
    std::printf("%s\n", to_string(tensor).c_str());
  }
  return code;
}

int diff(const Options& options) {
  const File a = open_file(options.files[0], options.names);
  const File b = open_file(options.files[1], options.names);
  const Json found = differences(a, b, options.rtol, options.atol);
  if (options.json) print_json(found);
  if (!options.json && !found.empty()) print_table(found);
  return found.empty() ? kEqual : kDifferent;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Shows shapes, statistics and pictures of the arrays in a file, and a model's inputs and "
      "outputs; or what differs between two files. Reads " +
          supported_formats() +
          ". Exit codes: 0 shown, or nothing differs; 1 something differs; 2 trouble.",
      "tenon-inspect");
  app.set_version_flag("--version", TENON_INSPECT_VERSION);
  app.add_option("files", options.files, "a file, or two with --diff")->required()->expected(1, 2);
  app.add_option("-n,--name", options.names, "only this array; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto* const json_flag =
      app.add_flag("-j,--json", options.json, "print JSON, with null for NaN and infinities");
  auto* const diff_flag =
      app.add_flag("-d,--diff", options.diff, "compare two files; NaN is equal to NaN");
  auto* const list_flag =
      app.add_flag("-l,--list", options.only_list, "without statistics, for which all is read")
          ->excludes(diff_flag);
  app.add_option("-b,--bins", options.bins, "of the histogram, 10 if not given")
      ->check(CLI::Range(0, 10000))
      ->excludes(diff_flag)
      ->excludes(list_flag);
  app.add_flag("-p,--picture", options.picture, "show the array as a picture")
      ->excludes(diff_flag)
      ->excludes(json_flag);
  app.add_option("--png", options.png, "write the array as a picture to this file")
      ->excludes(diff_flag);
  app.add_option("--rtol", options.rtol, "allow that much relative to the second file's values")
      ->check(CLI::NonNegativeNumber)
      ->needs(diff_flag);
  app.add_option("--atol", options.atol, "allow that much")
      ->check(CLI::NonNegativeNumber)
      ->needs(diff_flag);
  try {
    app.parse(argc, argv);
    if (options.diff != (options.files.size() == 2)) {
      throw CLI::ValidationError("--diff takes two files, and nothing else does");
    }
    if (std::isnan(options.rtol) || std::isnan(options.atol)) {
      throw CLI::ValidationError("--rtol and --atol take numbers, not NaN");
    }
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kEqual : kTrouble;
  }
  int code = kTrouble;
  try {
    code = options.diff ? diff(options) : show(options);
  } catch (const std::exception& e) {
    complain(reason(e));
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    if (errno != EPIPE) complain(std::string("standard output: ") + std::strerror(errno));
    code = kTrouble;
  }
  return code;
}
