// SPDX-License-Identifier: MIT
// .safetensors files, and models in several of them.
#include "inspect.h"
#include "tenon/interop/safetensors.h"

namespace inspect {

using namespace tenon;

void open_safetensors(File& out, const std::string& path) {
  const SafeTensors file = SafeTensors::open(path).value();
  if (const auto texts = file.metadata(); !texts.empty()) out.about["metadata"] = texts;
  for (const SafeTensorInfo& info : file.infos()) {
    const char* const note = info.is_copied ? "copied" : "";
    Entry entry{describe_array(info.name, info.type, info.dtype, info.sizes, note)};
    entry.about["nbytes"] = info.nbytes;
    entry.is_mapped = !info.is_copied;
    if (info.type != ScalarType::Undefined) {
      entry.load = [file, name = info.name](const ProgressFunction&) {
        return *file.get(name).value();
      };
    } else {
      entry.load_bytes = [file, name = info.name] { return *file.get(name).value(); };
    }
    out.entries.push_back(entry);
  }
}

}  // namespace inspect
