// SPDX-License-Identifier: MIT
// .npy and .npz files.
#include "inspect.h"
#include "tenon/interop/npy.h"
#include "tenon/interop/npz.h"

namespace inspect {

using namespace tenon;

void open_npy(File& out, const std::string& path) {
  const NpyInfo info = npy_info(path).value();
  const char* const note = info.is_copied ? "copied" : "";
  Entry entry{describe_array("", info.type, info.dtype, info.sizes, note)};
  if (info.nbytes != 0) entry.about["nbytes"] = info.nbytes;
  entry.is_mapped = !info.is_copied;
  if (info.type != ScalarType::Undefined) {
    entry.load = [path](const ProgressFunction&) { return *read_npy(path, NpyMemory::Map); };
  } else if (info.nbytes != 0) {
    entry.load_bytes = [path] { return *read_npy(path, ScalarType::Byte, NpyMemory::Map); };
  }
  out.entries.push_back(entry);
}

void open_npz(File& out, const std::string& path) {
  const NpzFile file = NpzFile::open(path).value();
  for (size_t i = 0; i < file.size(); ++i) {
    const NpzInfo& info = file.infos()[i];
    const char* const note = info.is_deflated ? "deflated" : info.is_copied ? "copied" : "";
    Entry entry{describe_array(info.name, info.type, info.dtype, info.sizes, note)};
    entry.is_mapped = !info.is_copied;
    if (info.dtype.empty()) {  // a file in the archive that is not an array
      for (const char* key : {"dtype", "in file", "shape"}) entry.about.erase(key);
    }
    if (info.type != ScalarType::Undefined || info.dtype.empty()) {  // get() says what is wrong
      entry.load = [file, i](const ProgressFunction& on_progress) {
        return *file.get(i, NpyMemory::Map, on_progress).value();
      };
    } else {
      entry.about["nbytes"] = info.nbytes;
      if (info.dtype != "|O") {  // pickles
        entry.load_bytes = [file, i] {
          return *file.get(i, ScalarType::Byte, NpyMemory::Map).value();
        };
      }
    }
    out.entries.push_back(entry);
  }
}

}  // namespace inspect
