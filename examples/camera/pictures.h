// SPDX-License-Identifier: MIT
// Pictures are tensors of bytes, rows × columns × RGB, of any strides.
#pragma once

#include <string>

#include "tenon/tenon.h"

/// Writes a PPM file.
void write_ppm(const std::string& path, const tenon::Tensor& picture);

/// Shows it in the terminal, 80 characters wide: in colour, or as shades when the output is a file.
void show(const char* caption, const tenon::Tensor& picture);
