// SPDX-License-Identifier: MIT
// Opens a file of torch.save: reads its pickle, and finds the bytes of its storages. The zip form
// has an archive entry for each storage; the old form has the storages after the pickle.
#pragma once

#include <algorithm>
#include <string>

#include "tenon/interop/files/file_content.h"
#include "tenon/interop/files/name_index.h"
#include "tenon/interop/files/npz_reader.h"
#include "tenon/interop/files/torch_pickle.h"
#include "tenon/kernels/byte_order.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// Fails for a file that torch.save did not write; the error says which kind of file it is.
inline Error fail_no_torch_file(const FileBytes& file) noexcept {
  if (file.size > 262 && std::memcmp(file.data + 257, "ustar", 5) == 0) {
    return fail(Error::InvalidArgument,
                "a tar archive, as the first versions of PyTorch wrote; in Python "
                "torch.save(torch.load(path, weights_only=False), path), if you trust the file");
  }
  TENON_TRY(fail_for_kind(file.data, file.size, "a file of torch.save"));
  return fail(Error::InvalidArgument, "not a file of torch.save (", file.size,
              " bytes): neither a zip archive nor the form before PyTorch 1.6");
}

/// The position of a storage's bytes in the file.
struct TorchRegion {
  std::string_view key;
  uint64_t begin = 0;
  uint64_t size = 0;
  size_t entry = SIZE_MAX;  // index of its entry in the zip archive; SIZE_MAX once it is located
};

/// A file of torch.save, open.
class TorchArchive {
 public:
  FileBytes bytes;
  PickleGraph graph;
  uint32_t root = 0;          // index of the pickle's value
  uint64_t pickle_bytes = 0;  // the pickle's length
  /// Whether the file's byte order differs from the host's. Files of the old form, and archives
  /// without a `byteorder` entry, are little-endian.
  bool is_swapped = host_is_big_endian();

  /// `from`: a path or a FileContent.
  template <class From>
  Error open(const From& from) {
    TENON_TRY(bytes.open(from));
    return bytes.size >= 2 && bytes.data[0] == 'P' && bytes.data[1] == 'K' ? read_zip()
                                                                           : read_old();
  }

  /// Finds a storage's bytes in the file.
  /// Errors: InvalidArgument (the storage is missing or broken); NotSupported (the storage is
  /// deflated).
  Error find(const TorchStorage& storage, TorchRegion& region) {
    const auto found = by_key_.find(storage.key);
    if (found.empty()) {
      return fail(Error::InvalidArgument, "the file has no storage \"", ShownText(storage.key).text,
                  "\"");
    }
    TorchRegion& at = regions_[found[0].second];
    if (at.entry != SIZE_MAX) {
      ZipEntry& entry = entries_[at.entry];
      const Error error = locate(entry);
      if (error != Error::Ok) {
        return fail(error, "storage \"", ShownText(storage.key).text, "\": ", last_error_message());
      }
      at = {at.key, entry.data, entry.size};
    }
    region = at;
    return Error::Ok;
  }

 private:
  Error locate(ZipEntry& entry) const noexcept {
    TENON_TRY(locate_zip_entry(bytes.data, bytes.size, entry));
    if (entry.method == 0) return Error::Ok;
    return fail(Error::NotSupported,
                "it is deflated, which torch.save does not do; "
                "load it with torch.load and save it again with torch.save");
  }

  Error read_zip() {
    ZipReader zip;
    TENON_TRY(zip.open(bytes.data, bytes.size));
    TENON_TRY(zip.list(entries_));
    const auto find_file = [&](std::string_view file) -> ZipEntry* {
      for (ZipEntry& entry : entries_) {
        const std::string_view name = entry.name;
        const size_t folder = name.find('/') + 1;  // npos + 1 is 0
        if (name.substr(folder) == file) return &entry;
      }
      return nullptr;
    };
    const auto has_part = [&](std::string_view part) {
      return std::any_of(entries_.begin(), entries_.end(), [&](const ZipEntry& entry) {
        return entry.name.find(part) != std::string::npos;
      });
    };
    ZipEntry* const pickle = find_file("data.pkl");
    if (find_file("constants.pkl") != nullptr || (pickle != nullptr && has_part("/code/"))) {
      return fail(
          Error::InvalidArgument,
          "a TorchScript archive, written by torch.jit.save; expected a file of torch.save; "
          "interop/torchscript.h runs it");
    }
    if (pickle == nullptr && has_part("data/aotinductor/")) {
      return fail(Error::InvalidArgument,
                  "an AOTInductor package (.pt2); expected a file of torch.save; interop/aoti.h "
                  "runs it");
    }
    if (pickle == nullptr &&
        (find_file("archive_format") != nullptr || has_part("serialized_exported_program.json"))) {
      return fail(Error::InvalidArgument,
                  "a program of torch.export (.pt2); expected a file of torch.save; in Python "
                  "torch.export.load(path).state_dict has its weights");
    }
    if (pickle == nullptr && (find_file("version") != nullptr || has_part("data/"))) {
      return fail(Error::InvalidArgument,
                  "the archive has no data.pkl: torch.save did not finish; save it again");
    }
    if (pickle == nullptr) return fail_no_torch_file(bytes);
    Error error = locate(*pickle);
    if (error == Error::Ok && pickle->size > kMaxPickle) {
      error = fail(Error::NotSupported, "it has ", pickle->size, " bytes, expected at most ",
                   kMaxPickle);
    }
    if (error != Error::Ok) return fail(error, "data.pkl: ", last_error_message());
    pickle_bytes = pickle->size;
    TENON_TRY(
        TorchUnpickler(bytes.data, pickle->data, pickle->data + pickle->size, graph).read(root));
    const std::string prefix = pickle->name.substr(0, pickle->name.size() - 8);
    const std::string data = prefix + "data/";
    for (size_t i = 0; i < entries_.size(); ++i) {
      const std::string_view name = entries_[i].name;
      if (name.substr(0, data.size()) == data) {
        regions_.push_back({name.substr(data.size()), 0, 0, i});
      }
      if (name == prefix + "byteorder") TENON_TRY(read_byte_order(entries_[i]));
    }
    sort();
    return Error::Ok;
  }
  Error read_byte_order(ZipEntry& entry) noexcept {
    const Error error = locate(entry);
    if (error != Error::Ok) return fail(error, "byteorder: ", last_error_message());
    const uint64_t length = entry.size;
    const std::string_view order(reinterpret_cast<const char*>(bytes.data + entry.data),
                                 static_cast<size_t>(length));
    if (order != "little" && order != "big") {
      return fail(Error::InvalidArgument, "byteorder is \"", ShownText(order).text,
                  "\", expected little or big (byte ", entry.data, ")");
    }
    is_swapped = (order == "big") != host_is_big_endian();
    return Error::Ok;
  }

  /// The old form: five pickles, which hold the magic number, the format's version, the machine's
  /// properties, the saved object and the list of storage keys; then for each storage its number of
  /// elements and its bytes.
  Error read_old() {
    // 0x1950a86a20f9469cfc6c, as LONG1.
    constexpr std::string_view kMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 13);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data), bytes.size);
    const size_t magic = text.substr(0, 32).find(kMagic);
    if (magic == text.npos || magic < 2 || text[0] != '\x80') return fail_no_torch_file(bytes);
    uint64_t at = magic + kMagic.size();
    uint32_t version = 0;
    uint32_t machine = 0;
    uint32_t keys = 0;
    TENON_TRY(read_pickle(at, version));
    TENON_TRY(read_pickle(at, machine));
    if (graph.kind(version) != PickleKind::Int || graph.values[version].integer != 1001) {
      return fail(Error::NotSupported, "the old form's version is not 1001 (byte ",
                  magic + kMagic.size(), ")");
    }
    const uint64_t before = at;
    TENON_TRY(read_pickle(at, root));
    pickle_bytes = at - before;
    TENON_TRY(read_pickle(at, keys));
    if (graph.kind(keys) != PickleKind::List) {
      return fail(Error::InvalidArgument, "the list of storages is another value (byte ", at, ")");
    }
    return read_regions(at, keys);
  }
  Error read_pickle(uint64_t& at, uint32_t& value) {
    TorchUnpickler unpickler(bytes.data, at, bytes.size, graph);
    TENON_TRY(unpickler.read(value));
    at = unpickler.end();
    return Error::Ok;
  }
  Error read_regions(uint64_t at, uint32_t keys) {
    NameIndex by_key;
    for (const TorchStorage& storage : graph.storages) by_key.add(storage.key);
    by_key.sort();
    for (uint32_t cell = graph.values[keys].first; cell != 0; cell = graph.cells[cell].next) {
      const PickleValue& key = graph.values[graph.cells[cell].value];
      const std::string_view name = key.kind == PickleKind::Text ? key.view() : "";
      const auto known = by_key.find(name);
      if (known.empty()) {
        return fail(Error::InvalidArgument, "no tensor is in the storage \"", ShownText(name).text,
                    "\", so its elements' size is not known (byte ", at, ")");
      }
      if (bytes.size - at < 8) {
        return fail(Error::InvalidArgument, "the file ends before the size of storage \"",
                    ShownText(name).text, "\" (byte ", at, ")");
      }
      const uint64_t numel = read_zip_number(bytes.data + at, 8);
      at += 8;
      const uint64_t element = kTorchDtypes[graph.storages[known[0].second].dtype].size;
      if (numel > (bytes.size - at) / element) {
        return fail(Error::InvalidArgument, "storage \"", ShownText(name).text, "\" of ", numel,
                    " elements of ", element, " bytes reaches beyond the file (byte ", at, ")");
      }
      regions_.push_back({name, at, numel * element});
      at += numel * element;
    }
    sort();
    return Error::Ok;
  }
  void sort() {
    for (const TorchRegion& region : regions_) by_key_.add(region.key);
    by_key_.sort();
  }

  std::vector<ZipEntry> entries_;  // of the zip form
  std::vector<TorchRegion> regions_;
  NameIndex by_key_;
};

}  // namespace detail
TENON_END_NAMESPACE
