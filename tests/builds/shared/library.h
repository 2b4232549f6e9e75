// SPDX-License-Identifier: MIT
// What each of the libraries exports.
#pragma once

#include <cstdint>

#define SHARED_EXPORT __attribute__((visibility("default")))

#define SHARED_DECLARE(name)                                                              \
  namespace name {                                                                        \
  /* The address of the thread's generator, as seen there. */                             \
  SHARED_EXPORT const void* generator();                                                  \
  /* Takes the next of its elements there; the offset of that. */                         \
  SHARED_EXPORT uint64_t take();                                                          \
  SHARED_EXPORT void seed(uint64_t value);                                                \
  /* Registers a backend of that library's, which is static there. */                     \
  SHARED_EXPORT void register_device(int32_t index);                                      \
  SHARED_EXPORT void unregister_device();                                                 \
  /* The backend registered for a device, null when there is none. */                     \
  SHARED_EXPORT const void* find(int32_t index);                                          \
  /* Registers a runtime of that library's for a suffix, or removes it. */                \
  SHARED_EXPORT void register_runtime(const char* suffix);                                \
  SHARED_EXPORT void unregister_runtime(const char* suffix);                              \
  /* Whether a file has a runtime, as seen there. */                                      \
  SHARED_EXPORT bool can_open(const char* path);                                          \
  /* The thread's default backend. */                                                     \
  SHARED_EXPORT const void* current();                                                    \
  /* The text of the latest error, as seen there. */                                      \
  SHARED_EXPORT const char* message();                                                    \
  /* Makes a tensor of that library's that is dropped with its static objects. */         \
  SHARED_EXPORT void keep_tensor();                                                       \
  /* Each puts a tensor made there into a tenon::TensorPtr. */                            \
  SHARED_EXPORT void make_template(void* tensor);                                         \
  SHARED_EXPORT void make_expression(void* tensor);                                       \
  /* A Blob of that library's as a DLManagedTensorVersioned, and the sum of another's. */ \
  SHARED_EXPORT void* lend();                                                             \
  SHARED_EXPORT double sum(void* managed);                                                \
  SHARED_EXPORT int released();                                                           \
  /* Throws that library's tenon::Exception. */                                           \
  SHARED_EXPORT void fail();                                                              \
  }
SHARED_DECLARE(first)
SHARED_DECLARE(second)
SHARED_DECLARE(newer)
SHARED_DECLARE(wider)
