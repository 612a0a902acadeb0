// What an engine uses: from a JSON spec to a kernel that runs. heddle/inspect.hpp has the rest.
#ifndef HEDDLE_HEDDLE_HPP_
#define HEDDLE_HEDDLE_HPP_

#include "heddle/bundle.h"
#include "heddle/checkpoint.h"
#include "heddle/device_memory.h"
#include "heddle/error.h"
#include "heddle/kernel.h"
#include "heddle/kv_cache.h"
#include "heddle/model.h"
#include "heddle/model_size.h"
#include "heddle/operations.h"
#include "heddle/runtime.h"
#include "heddle/spec.h"
#include "heddle/statistics.h"
#include "heddle/target.h"
#include "heddle/tuned.h"
#include "heddle/uploader.h"
#include "heddle/version.h"
#include "heddle/weights.h"

#endif  // HEDDLE_HEDDLE_HPP_
