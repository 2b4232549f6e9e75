// SPDX-License-Identifier: MIT
// For real_files.py: what react-native-executorch's headers use of phonemis.
#pragma once

namespace phonemis {
class Pipeline {};
}  // namespace phonemis
