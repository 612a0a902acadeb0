#ifndef HEDDLE_TESTS_C_API_PLAIN_CHECKS_H_
#define HEDDLE_TESTS_C_API_PLAIN_CHECKS_H_

/* Checkpoints with layers that are not quantised. */
void test_plain_layers(void);

#endif /* HEDDLE_TESTS_C_API_PLAIN_CHECKS_H_ */
