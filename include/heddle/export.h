// HEDDLE_EXPORT marks what the shared library shows; everything else is hidden.
#pragma once

#if defined(__GNUC__)
#define HEDDLE_EXPORT __attribute__((visibility("default")))
#else
#define HEDDLE_EXPORT
#endif
