// SPDX-License-Identifier: MIT
#pragma once

/// How often this process has asked the heap for memory so far: calls of malloc and its kin,
/// whoever made them. -1 where that cannot be counted: without glibc, and under sanitizers, which
/// bring a heap of their own.
long count_allocations();
