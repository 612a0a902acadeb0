// A model's config as the commands take it: a file, standard input, or the command line itself.
#ifndef HEDDLE_TOOLS_HEDDLE_SHARED_CONFIG_FILES_H_
#define HEDDLE_TOOLS_HEDDLE_SHARED_CONFIG_FILES_H_

#include <string>

#include "checkpoint/modules/config_files.h"

namespace heddle {

// `argument` is the path of config.json, "-" or JSON, as for read_input(); only a file has others
// beside it. Throws as read_input() and read_files_beside() do.
ConfigFiles read_config_input(const std::string& argument);
// As above, of the config.json of a folder, which the user has not named: anything but a regular
// file, such as a pipe that nobody writes, is Error(kFile, "tool.unreadable").
ConfigFiles read_config_beside(const std::string& path);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_SHARED_CONFIG_FILES_H_
