// Everything: from a JSON spec to a kernel that runs.
#ifndef HEDDLE_HEDDLE_HPP_
#define HEDDLE_HEDDLE_HPP_

#include "heddle/binary.h"
#include "heddle/decode_plan.h"
#include "heddle/error.h"
#include "heddle/kernel.h"
#include "heddle/kv_cache.h"
#include "heddle/kv_codec.h"
#include "heddle/model.h"
#include "heddle/plan.h"
#include "heddle/runtime.h"
#include "heddle/source.h"
#include "heddle/spec.h"
#include "heddle/target.h"
#include "heddle/tuned.h"
#include "heddle/version.h"
#include "heddle/weights.h"

#endif  // HEDDLE_HEDDLE_HPP_
