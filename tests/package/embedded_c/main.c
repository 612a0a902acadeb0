/* The smallest C program that uses heddle. */
#include <heddle/heddle.h>
#include <stdio.h>

int main(void) {
  printf("heddle %s\n", heddle_version());
  return 0;
}
