// HEDDLE_EXPORT marks what the shared library shows; everything else is hidden.
#ifndef HEDDLE_EXPORT_H_
#define HEDDLE_EXPORT_H_

#if defined(__GNUC__)
#define HEDDLE_EXPORT __attribute__((visibility("default")))
#else
#define HEDDLE_EXPORT
#endif

#endif  // HEDDLE_EXPORT_H_
