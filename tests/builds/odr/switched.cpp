// SPDX-License-Identifier: MIT
// Uses what a file has that may have been built with another switch: then the two do not link.
#include <tenon/core/result.h>

using Sizes = tenon::Result<tenon::Dims>;

#if defined(BY_PARAMETER)
size_t rank_of(const Sizes& sizes);
int main() { return rank_of(tenon::Dims{2, 3}) == 2 ? 0 : 1; }
#elif defined(BY_RESULT)
Sizes rank_two();
int main() { return rank_two().value().size() == 2 ? 0 : 1; }
#elif defined(BY_MEMBER)
struct Model {
  static Sizes rank_three(int);
};
int main() { return Model::rank_three(0).value().size() == 3 ? 0 : 1; }
#elif defined(BY_VARIABLE)
extern Sizes rank_four;
int main() { return rank_four.value().size() == 4 ? 0 : 1; }
#endif
