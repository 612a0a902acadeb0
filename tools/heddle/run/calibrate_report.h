// What `heddle tune --calibrate` says of the costs that it measured.
#ifndef HEDDLE_TOOLS_HEDDLE_RUN_CALIBRATE_REPORT_H_
#define HEDDLE_TOOLS_HEDDLE_RUN_CALIBRATE_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heddle/tuned.h"
#include "tools/tune/calibration.h"

namespace heddle {

// The errors of held-out kernels before and after, and the values of each family's parameters.
std::string calibration_text(const std::vector<FamilyCalibration>& families);
nlohmann::ordered_json calibration_json(const CalibrationMeasurement& measured,
                                        const std::vector<FamilyCalibration>& families,
                                        const TunedTable& table);

// Says on stderr what was not measured, what is wrong, and of which family there is too little.
// Returns the exit code: kExitInterrupted after SIGINT, else kExitDone if there is none of these. A
// family whose current values predict better is done, too.
int report_calibration(const CalibrationMeasurement& measured,
                       const std::vector<FamilyCalibration>& families);

}  // namespace heddle

#endif  // HEDDLE_TOOLS_HEDDLE_RUN_CALIBRATE_REPORT_H_
