// SPDX-License-Identifier: MIT
// The shared library of a model that AOTInductor compiled: its requirements, its functions, its
// container.
#pragma once

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tenon/interop/files/file.h"
#include "tenon/interop/runtimes/aoti_handles.h"

// As in torch/csrc/inductor/aoti_runtime/interface.h, which programs do not include.
extern "C" {
struct AOTInductorModelContainerOpaque;
using AOTInductorModelContainerHandle = AOTInductorModelContainerOpaque*;
struct AOTInductorStreamOpaque;
struct AOTInductorConstantMapEntry;
}

TENON_BEGIN_NAMESPACE
namespace detail {

// --- What a library needs, read before any of its code runs --------------------------------------

struct AotiNeeds {
  std::vector<std::string> functions;  // required functions of torch or Sleef
  std::vector<std::string> libraries;  // required libraries, by the loader's names
  std::string torch;                   // the name of libtorch, if the library is linked to it
};

/// The bytes of a file.
struct AotiBytes {
  const char* data = nullptr;
  uint64_t size = 0;

  /// The address of `count` bytes at `offset`; null if they are not all within the file.
  const char* at(uint64_t offset, uint64_t count) const noexcept {
    return offset <= size && count <= size - offset ? data + offset : nullptr;
  }
  template <class T>
  bool read(uint64_t offset, T& out) const noexcept {
    const char* const from = at(offset, sizeof(T));
    if (from != nullptr) std::memcpy(static_cast<void*>(&out), from, sizeof(T));
    return from != nullptr;
  }
  /// The text at `offset`; "" if it does not end before `end`.
  const char* text(uint64_t offset, uint64_t end) const noexcept {
    const char* const from = end > offset ? at(offset, end - offset) : nullptr;
    return from != nullptr && std::memchr(from, 0, end - offset) != nullptr ? from : "";
  }
};

inline bool starts_with(const char* text, const char* begin) noexcept {
  return std::strncmp(text, begin, std::strlen(begin)) == 0;
}

/// Reads the tables that the dynamic linker will read.
/// Errors: InvalidArgument for a file that is not a complete shared library; NotSupported for a
/// library for another processor.
inline Error read_aoti_needs(const AotiBytes& file, AotiNeeds& needs) {
  Elf64_Ehdr header;
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_type != ET_DYN || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return fail(Error::InvalidArgument, "it is not a shared library of 64 bits");
  }
#if defined(__x86_64__)
  constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr Elf64_Half kMachine = EM_AARCH64;
#else
  const Elf64_Half kMachine = header.e_machine;  // unknown here: dlopen() checks the processor
#endif
  if (header.e_machine != kMachine) {
    return fail(Error::NotSupported, "it is for another processor: ELF machine ", header.e_machine,
                ", expected ", kMachine);
  }
  const uint64_t count = header.e_shnum;
  if (count == 0 || file.at(header.e_shoff, count * sizeof(Elf64_Shdr)) == nullptr) {
    return fail(Error::InvalidArgument, "the file is cut: it has ", file.size, " bytes");
  }
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr section;
    Elf64_Shdr names;
    static_cast<void>(file.read(header.e_shoff + i * sizeof section, section));
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC) continue;
    if (section.sh_link >= count ||
        !file.read(header.e_shoff + section.sh_link * sizeof names, names) ||
        file.at(section.sh_offset, section.sh_size) == nullptr ||
        file.at(names.sh_offset, names.sh_size) == nullptr) {
      return fail(Error::InvalidArgument, "its table of symbols is broken");
    }
    const uint64_t end = names.sh_offset + names.sh_size;
    if (section.sh_type == SHT_DYNSYM) {
      Elf64_Sym symbol;
      for (uint64_t at = 0; at + sizeof symbol <= section.sh_size; at += sizeof symbol) {
        static_cast<void>(file.read(section.sh_offset + at, symbol));
        const char* const name = file.text(names.sh_offset + symbol.st_name, end);
        if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL &&
            (starts_with(name, "aoti_") || starts_with(name, "Sleef_"))) {
          needs.functions.emplace_back(name);
        }
      }
    } else {
      Elf64_Dyn entry;
      for (uint64_t at = 0; at + sizeof entry <= section.sh_size; at += sizeof entry) {
        static_cast<void>(file.read(section.sh_offset + at, entry));
        const char* const name = file.text(names.sh_offset + entry.d_un.d_val, end);
        if (entry.d_tag != DT_NEEDED) continue;
        needs.libraries.emplace_back(name);
        if (starts_with(name, "libtorch")) needs.torch = name;
      }
    }
  }
  return Error::Ok;
}

/// The file that an address belongs to; "" if unknown.
inline const char* file_of(void* address) noexcept {
  Dl_info place;
  if (::dladdr(address, &place) == 0 || place.dli_fname == nullptr) return "";
  const char* const slash = std::strrchr(place.dli_fname, '/');
  return slash != nullptr ? slash + 1 : place.dli_fname;
}

/// Whether the program has a function that works on tenon's tensors. libtorch's functions do not.
inline bool has_aoti_function(const char* name) noexcept {
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  return found != nullptr && !starts_with(file_of(found), "libtorch");
}

/// The functions that the program lacks, sorted.
inline std::vector<std::string> missing_aoti_functions(const AotiNeeds& needs) {
  std::vector<std::string> missing;
  bool opened = false;
  for (const std::string& name : needs.functions) {
    if (has_aoti_function(name.c_str())) continue;
    if (!opened && starts_with(name.c_str(), "Sleef_")) {
      opened = true;  // the model does not name the libraries that it needs
      static_cast<void>(::dlopen("libsleef.so.3", RTLD_NOW | RTLD_GLOBAL));
      if (has_aoti_function(name.c_str())) continue;
    }
    missing.push_back(name);
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

/// Checks that the functions which a model will find are those of aoti_shim.h.
/// Errors: NotSupported.
inline Error check_aoti_shim() {
  void* const found = ::dlsym(RTLD_DEFAULT, "aoti_torch_delete_tensor_object");
  if (found == nullptr) {
    return fail(Error::NotSupported,
                "the program has torch's functions, but does not export them: link it with "
                "-rdynamic, or with CMake's tenon::aoti");
  }
  if (found == reinterpret_cast<void*>(tenon_aoti_shim.delete_tensor_object)) return Error::Ok;
  return fail(Error::NotSupported, "torch's functions come from ", file_of(found),
              ", which does not know tenon's tensors; link the program with -rdynamic, so that its "
              "own come first");
}

/// Calls read_aoti_needs() for the bytes of a file.
/// Errors: also NotFound and AccessFailed.
inline Error read_aoti_file(const char* path, AotiNeeds& needs) {
  InputFile file;
  TENON_TRY(file.open(path));
  Deleter unmapper;
  AotiBytes bytes;
  const uint64_t size = file.size();
  bytes.size = size;
  if (size != 0) {
    bytes.data = static_cast<const char*>(file.map(static_cast<size_t>(size), unmapper));
    if (bytes.data == nullptr) return fail(Error::AccessFailed, "cannot map the file");
  }
  return read_aoti_needs(bytes, needs);
}

/// The function by which a model calls operators that have no C function.
inline constexpr const char* kProxyFunction = "aoti_torch_proxy_executor_call_function";

/// Joins as many names as an error's text has room for.
inline std::string join_missing(const std::vector<std::string>& missing) {
  std::string names;
  for (size_t i = 0; i < missing.size(); ++i) {
    if (names.size() + missing[i].size() > 240) {
      names += " and others, which AotiModel::missing_functions() lists";
      break;
    }
    names += (i == 0 ? "" : ", ") + missing[i];
  }
  return names;
}

/// The header that has, or may have, a function that the program lacks; "" if there is none.
inline const char* header_of(const std::string& name) noexcept {
  constexpr std::string_view kCpu = "aoti_torch_cpu_";
  const std::string_view function = std::string_view(name).substr(name.find(kCpu) == 0 ? 15 : 0);
  if (function == kProxyFunction) return "aoti_proxy.h";
  if (function.find("_fft_") != std::string_view::npos) return "aoti_fft.h";
  for (const std::string_view product :
       {"addmm_out", "mm_out", "bmm_out", "baddbmm_out", "convolution"}) {
    if (function == product) return "aoti_onednn.h";
  }
  return has_aoti_function("aoti_torch_cpu_cumsum") ? "" : "aoti_kernels.h";
}

/// Makes all checks that are possible before code of the library runs.
/// Errors: those of read_aoti_file(); NotSupported for functions that the program lacks, with their
/// names.
inline Error check_aoti_library(const char* path) {
  AotiNeeds needs;
  TENON_TRY(read_aoti_file(path, needs));
  if (!needs.torch.empty()) {
    return fail(Error::NotSupported, "it is linked to ", needs.torch.c_str(),
                "; export the model with aot_inductor.link_libtorch False");
  }
  if (!needs.functions.empty()) TENON_TRY(check_aoti_shim());
  const std::vector<std::string> missing = missing_aoti_functions(needs);
  if (missing.empty()) return Error::Ok;
  std::string headers;
  for (const std::string& name : missing) {
    const std::string header = header_of(name);
    if (header.empty() || headers.find(header) != std::string::npos) continue;
    headers += (headers.empty() ? "interop/" : ", interop/") + header;
  }
  return fail(Error::NotSupported, "nobody provides ", missing.size(),
              missing.size() == 1 ? " function" : " functions",
              " that the model calls: ", join_missing(missing),
              headers.empty()
                  ? "; tenon has no header with them"
                  : "; include headers that may have them, in one file of the program: ",
              headers, "; see \"What a program includes\" in docs/aoti.md");
}

// --- Its functions -------------------------------------------------------------------------------

using AotiContainer = AOTInductorModelContainerHandle;

/// An AOTInductorConstantMapEntry.
struct AotiConstantEntry {
  const char* name;
  AtenTensorHandle handle;
};

/// The C functions of a model, without AOTInductor's prefix "AOTInductorModel".
/// Source: torch/csrc/inductor/aoti_runtime/interface.h, of torch 2.13 and later.
struct AotiFunctions {
  using Code = int32_t;
  Code (*create)(AotiContainer*, size_t num_models, const char* device, const char* cubin_folder);
  Code (*destroy)(AotiContainer);
  Code (*run)(AotiContainer, AtenTensorHandle* inputs, size_t num_inputs, AtenTensorHandle* outputs,
              size_t num_outputs, AOTInductorStreamOpaque*, AOTIProxyExecutorOpaque*);
  Code (*count_inputs)(AotiContainer, size_t*);
  Code (*count_outputs)(AotiContainer, size_t*);
  Code (*count_constants)(AotiContainer, size_t*);
  Code (*input_name)(AotiContainer, size_t, const char**);
  Code (*output_name)(AotiContainer, size_t, const char**);
  Code (*constant_name)(AotiContainer, size_t, const char**);
  Code (*constant_original_name)(AotiContainer, size_t, const char**);
  Code (*constant_type)(AotiContainer, size_t, int32_t*);
  Code (*constant_nbytes)(AotiContainer, size_t, size_t*);
  Code (*constant_is_folded)(AotiContainer, size_t, bool*);
  Code (*get_constants)(AotiContainer, const AOTInductorConstantMapEntry**, size_t*, bool inactive);
  Code (*set_constants)(AotiContainer, const AOTInductorConstantMapEntry*, size_t, bool inactive,
                        bool all);
  Code (*load_constants)(AotiContainer, const uint8_t*);
  Code (*last_error)(const char**);

  /// Errors: InvalidArgument for a library that lacks one of them.
  Error find(void* library) noexcept {
    const auto get = [&](auto& function, const char* name) {
      void* const found = ::dlsym(library, name);
      // POSIX: pointers to functions and to objects have one size
      std::memcpy(&function, &found, sizeof found);
      if (found != nullptr) return Error::Ok;
      return fail(Error::InvalidArgument, "the library has no ", name,
                  ", expected a library of AOTInductor of torch 2.13 or later");
    };
    TENON_TRY(get(create, "AOTInductorModelContainerCreateWithDevice"));
    TENON_TRY(get(destroy, "AOTInductorModelContainerDelete"));
    TENON_TRY(get(run, "AOTInductorModelContainerRun"));
    TENON_TRY(get(count_inputs, "AOTInductorModelContainerGetNumInputs"));
    TENON_TRY(get(count_outputs, "AOTInductorModelContainerGetNumOutputs"));
    TENON_TRY(get(count_constants, "AOTInductorModelContainerGetNumConstants"));
    TENON_TRY(get(input_name, "AOTInductorModelContainerGetInputName"));
    TENON_TRY(get(output_name, "AOTInductorModelContainerGetOutputName"));
    TENON_TRY(get(constant_name, "AOTInductorModelContainerGetConstantName"));
    TENON_TRY(get(constant_original_name, "AOTInductorModelContainerGetConstantOriginalFQN"));
    TENON_TRY(get(constant_type, "AOTInductorModelContainerGetConstantDtype"));
    TENON_TRY(get(constant_nbytes, "AOTInductorModelContainerGetConstantDataSize"));
    TENON_TRY(get(constant_is_folded, "AOTInductorModelContainerGetConstantFromFolded"));
    TENON_TRY(get(get_constants, "AOTInductorModelContainerExtractConstantsMapEntries"));
    TENON_TRY(get(set_constants, "AOTInductorModelContainerUpdateUserManagedConstantBufferPairs"));
    TENON_TRY(get(load_constants, "AOTInductorModelUpdateConstantsFromBlob"));
    return get(last_error, "AOTInductorGetLastError");
  }
};

/// An open library with its container.
/// Threads: several threads may run it at once; the container waits while all its models are in
/// use.
class AotiLibrary {
 public:
  AotiLibrary() noexcept = default;
  AotiLibrary(const AotiLibrary&) = delete;
  AotiLibrary& operator=(const AotiLibrary&) = delete;
  ~AotiLibrary() {
    AotiCall context;
    if (container_ != nullptr) static_cast<void>(call(context, f_.destroy, container_));
    kept_.drop();
    if (library_ != nullptr) ::dlclose(library_);
    const size_t leaked = tenon_aoti_shim.lists_handles ? aoti_handles().count(this) : 0;
    // The program's data may be corrupt too, so the program ends, as when a destructor throws.
    TENON_CHECK(leaked == 0, Error::Internal, "AotiModule: the model leaked ", leaked,
                " tensor handles");
  }

  /// Errors: those of check_aoti_library(); InvalidArgument if the dynamic linker or the model
  /// refuses the library.
  Error open(const char* path, size_t num_models) {
    TENON_TRY(check_aoti_library(path));
    // dlopen() would search for a path without a slash.
    const std::string full = std::strchr(path, '/') == nullptr ? std::string("./") + path : path;
    library_ = ::dlopen(full.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      const char* text = ::dlerror();
      if (text == nullptr) text = "";
      if (starts_with(text, full.c_str())) text += full.size();  // the caller names the file
      return fail(Error::InvalidArgument, "cannot load it", *text == ':' ? "" : ": ", text);
    }
    TENON_TRY(f_.find(library_));
    AotiCall context;
    return call(context, f_.create, &container_, num_models, "cpu",
                static_cast<const char*>(nullptr));
  }

  /// Calls one of the functions; its error has the model's text and tenon's.
  template <class... P, class... A>
  Error call(AotiCall& context, AotiFunctions::Code (*function)(P...), A... args) const noexcept {
    context.owner = this;
    const AotiCallScope scope(context);
    const ErrorTextGuard before;
    if (function(args...) != 0) return fail_call();
    before.put_back();
    return Error::Ok;
  }
  /// Calls a function, and returns the value that it writes to its last argument.
  template <class T, class... P, class... A>
  Error get(T& out, AotiFunctions::Code (*function)(P...), A... args) const noexcept {
    AotiCall context;
    return call(context, function, container_, args..., &out);
  }

  const AotiFunctions& functions() const noexcept { return f_; }
  AotiContainer container() const noexcept { return container_; }

  /// Passes constants to the container, by the model's names, and keeps them.
  Error set_constants(const std::vector<std::string>& names, const std::vector<Tensor>& tensors) {
    Constants made;
    std::vector<AotiConstantEntry> entries;
    entries.reserve(names.size());
    AotiCall context;
    context.owner = this;
    for (size_t i = 0; i < names.size(); ++i) {
      kept_.handles.insert({names[i], nullptr});
      AtenTensorHandle& handle = made.handles[names[i]];
      const AotiCallScope scope(context);
      TENON_TRY(make_aoti_handle(tensors[i], handle));
      entries.push_back({names[i].c_str(), handle});
    }
    TENON_TRY(call(context, f_.set_constants, container_,
                   reinterpret_cast<const AOTInductorConstantMapEntry*>(entries.data()),
                   entries.size(), false, false));
    for (auto& [name, handle] : made.handles) std::swap(kept_.handles[name], handle);
    return Error::Ok;
  }

 private:
  /// Handles of constants, by the model's names.
  struct Constants {
    Constants() = default;
    Constants(const Constants&) = delete;
    Constants& operator=(const Constants&) = delete;
    ~Constants() { drop(); }
    void drop() noexcept {
      const LastError text = last_error();  // deleters may change it
      for (const auto& entry : handles) {
        if (entry.second == nullptr) continue;
        static_cast<void>(tenon_aoti_shim.delete_tensor_object(entry.second));
      }
      handles.clear();
      last_error() = text;
    }
    std::map<std::string, AtenTensorHandle> handles;
  };

  TENON_COLD Error fail_call() const noexcept {
    const LastError ours = last_error();
    const char* theirs = "";
    static_cast<void>(f_.last_error(&theirs));
    if (*ours.text == '\0') {
      const bool is_memory = std::strcmp(theirs, "std::bad_alloc") == 0;
      return fail(is_memory ? Error::OutOfMemory : Error::InvalidArgument, "AOTInductor: ", theirs);
    }
    if (std::strstr(theirs, ours.text) != nullptr) {
      return fail(ours.error, "AOTInductor: ", static_cast<const char*>(ours.text));
    }
    return fail(ours.error, "AOTInductor: ", static_cast<const char*>(ours.text), " (", theirs,
                ')');
  }

  void* library_ = nullptr;
  AotiFunctions f_{};
  AotiContainer container_ = nullptr;
  Constants kept_;
};

}  // namespace detail
TENON_END_NAMESPACE
