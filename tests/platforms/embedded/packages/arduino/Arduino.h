// SPDX-License-Identifier: MIT
// What a sketch finds in an Arduino core, as far as the example needs it, and the macros of the cores that a
// library's names must not meet.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HIGH 0x1
#define LOW 0x0
#define INPUT 0x0
#define OUTPUT 0x1
#define CHANGE 2
#define FALLING 3
#define RISING 4
#define DEFAULT 1
#define EXTERNAL 0
#define INTERNAL 2
#define PI 3.1415926535897932384626433832795
#define EULER 2.718281828459045235360287471352
#define SERIAL 0x0
#define DISPLAY 0x1
#define DEC 10
#define HEX 16
#define OCT 8
#define BIN 2
#define B0 0
#define B1 1
#define B00 0
#define B01 1
#define A0 14
#define F(text) (text)
#define PROGMEM
#define _BV(b) (1UL << (b))
#define bit(b) (1UL << (b))
#define bitRead(value, b) (((value) >> (b)) & 0x01)
#define bitSet(value, b) ((value) |= (1UL << (b)))
#define lowByte(w) ((uint8_t)((w)&0xff))
#define highByte(w) ((uint8_t)((w) >> 8))
#define constrain(x, low, high) ((x) < (low) ? (low) : ((x) > (high) ? (high) : (x)))
#define radians(x) ((x)*0.017453292519943295)
#define degrees(x) ((x)*57.29577951308232)
#define sq(x) ((x) * (x))
#define interrupts() ((void)0)
#define noInterrupts() ((void)0)

typedef bool boolean;
typedef uint8_t byte;
typedef uint16_t word;

int analogRead(int pin);
void delay(unsigned long milliseconds);
struct SerialPort {
  void begin(unsigned long baud);
  void flush();
  void println(const char* text);
  void println(float value);
};
extern SerialPort Serial;
void setup();
void loop();
