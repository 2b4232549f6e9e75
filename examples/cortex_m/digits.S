/* SPDX-License-Identifier: MIT
   The contents of ../digits/data, see digits.h. An .npy file of these is 128 bytes of header and
   the elements. */
.macro array name, count, size
  .balign 4
  .global \name
\name:
  .incbin "\name\().npy", 128
  .if . - \name != \count * \size
  .error "\name\().npy: expected \count elements of \size bytes"
  .endif
.endm

.section .digits, "a"
array images, 1797*64, 1
array labels, 1797, 1
array test_index, 450, 4
array w1, 32*64, 4
array b1, 32, 4
array w2, 10*32, 4
array b2, 10, 4
