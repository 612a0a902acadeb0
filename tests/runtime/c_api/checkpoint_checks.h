#ifndef HEDDLE_TESTS_RUNTIME_C_API_CHECKPOINT_CHECKS_H_
#define HEDDLE_TESTS_RUNTIME_C_API_CHECKPOINT_CHECKS_H_

#include "heddle/c/checkpoint.h"

/* Checkpoints with layers that are not quantised. */
void test_plain_layers(void);
void test_byte_activations(void);
void test_unserved_layers(void);
/* `checkpoint`: of one layer, "model.proj". */
void test_uploads(const heddle_checkpoint* checkpoint);

#endif /* HEDDLE_TESTS_RUNTIME_C_API_CHECKPOINT_CHECKS_H_ */
