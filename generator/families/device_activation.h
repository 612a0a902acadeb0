// The spec's functions as device code names them.
#ifndef HEDDLE_GENERATOR_FAMILIES_DEVICE_ACTIVATION_H_
#define HEDDLE_GENERATOR_FAMILIES_DEVICE_ACTIVATION_H_

#include "generator/families/fields.h"
#include "heddle/spec.h"
#include "steps/config.h"

namespace heddle {

inline device::Activation device_activation(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return device::Activation::kNone;
    case Activation::kRelu:
      return device::Activation::kRelu;
    case Activation::kGelu:
      return device::Activation::kGelu;
    case Activation::kGeluTanh:
      return device::Activation::kGeluTanh;
    case Activation::kSilu:
      return device::Activation::kSilu;
    case Activation::kRelu2:
      return device::Activation::kRelu2;
    case Activation::kClampedSwiglu:
      break;
  }
  return device::Activation::kClampedSwiglu;
}

}  // namespace heddle

#endif  // HEDDLE_GENERATOR_FAMILIES_DEVICE_ACTIVATION_H_
