// SPDX-License-Identifier: MIT
// A program of the example's board whose variables have names that a linker script might take.

float first[4] = {9, 9, 9, 9};
float data[6] = {1, 2, 3, 4, 5, 6};
float bss[4];
int stack[4] = {1, 2, 3, 4};
int stack_size = 7, stack_top = 8, data_end = 9;
unsigned char buffers[8] = {5}, digits[8] = {6}, constructors[2] = {7, 8};

int main() {
  const bool are_set = data[5] == 6 && bss[3] == 0 && stack[3] == 4 && stack_size == 7 &&
                       stack_top == 8 && data_end == 9 && buffers[0] == 5 && digits[0] == 6 &&
                       constructors[1] == 8;
  for (volatile float& x : data) x = 7;
  for (volatile float& x : bss) x = 8;
  return are_set && first[0] == 9 && data[0] == 7 && stack[0] == 1 && buffers[0] == 5 ? 0 : 1;
}
