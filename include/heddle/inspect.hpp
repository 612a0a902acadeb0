// What a kernel is made of: its plan, its source, its binary. Launches need heddle.hpp alone.
#pragma once

#include "heddle/inspect/binary.h"
#include "heddle/inspect/decode_plan.h"
#include "heddle/inspect/plan.h"
#include "heddle/inspect/source.h"
