// What multiplications have to do with each lane of the running fiber's warp.
#ifndef HEDDLE_TESTS_EMULATOR_WARP_LANES_H_
#define HEDDLE_TESTS_EMULATOR_WARP_LANES_H_

namespace emulator {

class Multiplications;
struct Actor;

Multiplications& multiplications_of(unsigned lane);
Actor& actor_of(unsigned lane);

}  // namespace emulator

#endif  // HEDDLE_TESTS_EMULATOR_WARP_LANES_H_
