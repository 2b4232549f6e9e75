// SPDX-License-Identifier: MIT
// A header that gives a warning of these flags, unless it is a SYSTEM one.
#include <tenon/tensor/values.h>

tenon::MinMax range_of(const tenon::Tensor& tensor);
tenon::MinMax range_of(const tenon::Tensor& tensor) { return tenon::min_max(tensor); }
