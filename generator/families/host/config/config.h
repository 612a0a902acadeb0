// templates/config/config.h as the library compiles it. This folder comes before templates/ on the
// include path, so that headers of templates/ find this one.
#pragma once

#include "generator/families/fields.h"
