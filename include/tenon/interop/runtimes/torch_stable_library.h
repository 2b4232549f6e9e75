// SPDX-License-Identifier: MIT
// load_torch_library: loads a library of operators without the libraries of libtorch that its file
// names as needed.
#pragma once

#include "tenon/interop/files/temporary_file.h"
#include "tenon/interop/runtimes/aoti_library.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The ELF file of an empty shared library that has a name.
struct NamedLibrary {
  Elf64_Ehdr header{};
  Elf64_Phdr segments[3]{};
  Elf64_Dyn dynamic[7]{};
  Elf64_Sym symbols[1]{};
  uint32_t hash[4] = {1, 1, 0, 0};  // one bucket, which is empty
  char names[256] = "";             // the first is empty

  /// Fills in the file, for the same processor as a file whose header is `like`.
  Error make(const char* name, const Elf64_Ehdr& like) noexcept {
    if (std::strlen(name) > sizeof names - 2) {
      return fail(Error::InvalidArgument, "the library's name ", name, " is too long");
    }
    std::memcpy(names + 1, name, std::strlen(name) + 1);
    std::memcpy(header.e_ident, like.e_ident, sizeof header.e_ident);
    header.e_type = ET_DYN;
    header.e_machine = like.e_machine;
    header.e_flags = like.e_flags;
    header.e_version = EV_CURRENT;
    header.e_phoff = offsetof(NamedLibrary, segments);
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof segments[0];
    header.e_phnum = 3;
    header.e_shentsize = sizeof(Elf64_Shdr);
    // Writable, since the dynamic linker adds the load address to addresses in `dynamic`.
    segments[0] = {PT_LOAD, PF_R | PF_W, 0, 0, 0, sizeof *this, sizeof *this, 4096};
    constexpr uint64_t kDynamic = offsetof(NamedLibrary, dynamic);
    segments[1] = {PT_DYNAMIC, PF_R | PF_W,    kDynamic,       kDynamic,
                   kDynamic,   sizeof dynamic, sizeof dynamic, 8};
    segments[2] = {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16};  // not an executable stack
    const Elf64_Xword entries[][2] = {{DT_SONAME, 1},
                                      {DT_HASH, offsetof(NamedLibrary, hash)},
                                      {DT_STRTAB, offsetof(NamedLibrary, names)},
                                      {DT_STRSZ, sizeof names},
                                      {DT_SYMTAB, offsetof(NamedLibrary, symbols)},
                                      {DT_SYMENT, sizeof symbols[0]}};
    static_assert(sizeof entries + sizeof dynamic[0] == sizeof dynamic);  // and DT_NULL
    std::memcpy(static_cast<void*>(dynamic), entries, sizeof entries);
    return Error::Ok;
  }
};

/// Opens empty libraries in place of missing ones, and closes them once the library that needs them
/// is loaded and holds them.
class NamedLibraries {
 public:
  NamedLibraries() = default;
  NamedLibraries(const NamedLibraries&) = delete;
  NamedLibraries& operator=(const NamedLibraries&) = delete;
  ~NamedLibraries() {
    for (void* const each : opened_) ::dlclose(each);
  }

  /// Opens an empty library of that name, unless a library of that name is loaded.
  Error open(const char* name) {
    if (void* const loaded = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr) {
      opened_.push_back(loaded);
      return Error::Ok;
    }
    NamedLibrary made;
    Elf64_Ehdr own;
    TENON_TRY(read_own_header(own));
    TENON_TRY(made.make(name, own));
    TemporaryFile file;
    TENON_TRY(file.create());
    TENON_TRY(file.write(reinterpret_cast<const char*>(&made), sizeof made));
    void* const library = ::dlopen(file.path(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      return fail(Error::AccessFailed, "cannot load an empty library in place of ", name, ": ",
                  ::dlerror());
    }
    opened_.push_back(library);
    return Error::Ok;
  }

 private:
  static Error read_own_header(Elf64_Ehdr& header) noexcept {
    InputFile file;
    TENON_TRY(file.open("/proc/self/exe"));
    return file.read(0, &header, sizeof header);
  }

  std::vector<void*> opened_;
};

inline bool is_of_torch(const std::string& library) noexcept {
  return starts_with(library.c_str(), "libtorch") || starts_with(library.c_str(), "libc10");
}
inline bool is_of_cuda(const std::string& library) noexcept {
  for (const char* const begin : {"libcuda", "libcudart", "libcublas", "libnvrtc", "libcudnn"}) {
    if (starts_with(library.c_str(), begin)) return true;
  }
  return false;
}

inline Error load_stable_library(const char* path) {
  AotiNeeds needs;
  TENON_TRY(read_aoti_file(path, needs));
  TENON_TRY(check_aoti_shim());
  NamedLibraries empty;
  for (const std::string& each : needs.libraries) {
    if (is_of_torch(each)) TENON_TRY(empty.open(each.c_str()));
  }
  // dlopen() would search for a path without a slash.
  const std::string full = std::strchr(path, '/') == nullptr ? std::string("./") + path : path;
  for (size_t tries = 0;; ++tries) {
    if (::dlopen(full.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return Error::Ok;
    const char* text = ::dlerror();
    if (text == nullptr) text = "";
    // "libcudart.so.13: cannot open shared object file: ...": the program may have its functions.
    const std::string missing(text, std::strcspn(text, ":"));
    const bool is_needed =
        std::find(needs.libraries.begin(), needs.libraries.end(), missing) != needs.libraries.end();
    if (is_needed && is_of_cuda(missing) && tries < needs.libraries.size()) {
      TENON_TRY(empty.open(missing.c_str()));
      continue;
    }
    const bool wants_cuda = std::strstr(text, "cuda") != nullptr;
    if (starts_with(text, full.c_str())) text += full.size();
    while (*text == ':' || *text == ' ') ++text;
    return fail(Error::NotSupported, "cannot load it: ", text,
                wants_cuda ? "; interop/torch_stable_no_cuda.h has CUDA's functions for a program "
                             "without CUDA"
                           : "");
  }
}

}  // namespace detail

/// Loads a library of operators for torch's stable ABI, such as one in a wheel from PyPI, and
/// registers its operators. The libraries of libtorch that it names as needed are not loaded: the
/// program has their functions. CUDA's are not loaded either if they are not installed: see
/// interop/torch_stable_no_cuda.h. Its other libraries are found by dlopen() as usual.
///
/// Errors: NotFound and AccessFailed for the file; InvalidArgument for a file that is not a
/// complete shared library; NotSupported for a library for another processor, for a missing
/// function or library, with its name, and for a program that does not export torch's functions;
/// OutOfMemory.
/// Threads: any; static initialization of the library runs in the caller's.
/// Source: torch.ops.load_library.
[[nodiscard]] inline Error load_torch_library(const detail::FilePath& path) noexcept {
  const Error error = detail::call_safely([&] {
    TENON_TRY(path.check());
    const Error loaded = detail::load_stable_library(path.c_str());
    return loaded == Error::Ok ? loaded : path.add_context(loaded);
  });
  return detail::add_context_if("load_torch_library", error);
}

TENON_END_NAMESPACE
