// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/stored_variables.h"
#include "support/catch.h"

using namespace ncclprobe;

TEST_CASE("values of known variables are stored") {
  for (const char* name :
       {"NCCL_ALGO", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "LD_LIBRARY_PATH", "UCX_TLS",
        "NCCLPROBE_GLOO_ALGORITHM", "NCCLPROBE_TUNER_TABLE", "NVIDIA_VISIBLE_DEVICES",
        "NCCL_WORK_FIFO_BYTES"})
    CHECK(base::stored_value(name, "7") == "7");
}

TEST_CASE("of any other variable only that it is set, whatever its name begins with") {
  for (const char* name :
       {"CUDA_API_KEY", "NCCL_TOKEN", "OMP_PASSWORD", "UCX_SECRET", "NCCLPROBE_KEY",
        "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY", "GITHUB_TOKEN", "https_proxy", "",
        "NCCL_ALG", "CCL_ALGO", "NCCL_ALGO NCCL_PROTO", " "})
    CHECK(base::stored_value(name, "7") == "(set)");
}
