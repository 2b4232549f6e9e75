// SPDX-License-Identifier: MIT
// What startup and the C library take by themselves.

int main() { return 0; }
