// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/secrets.h"
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

TEST_CASE("secrets are known by the names of their variables") {
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY", "GITHUB_TOKEN",
                           "https_proxy", "MLFLOW_TRACKING_PASSWORD", "NCCL_TOKEN"})
    CHECK(base::names_secret(name));
  for (const char* name : {"NCCL_IB_PKEY", "PATH", "HOME", "NCCL_ALGO", ""})
    CHECK_FALSE(base::names_secret(name));
}

TEST_CASE("what a program prints is kept without the secrets in its environment") {
  const auto secrets = base::secrets_of({"HF_TOKEN=hf_1234567", "A_KEY=hf_12345678", "B_KEY=short",
                                         "C_KEY=-----BEGIN\nabcdefgh\n", "PATH=/usr/bin:/bin"});

  CHECK(base::without_secrets("hf_12345678 hf_1234567 short /usr/bin:/bin abcdefgh\n", secrets) ==
        "(set) (set) short /usr/bin:/bin (set)\n");
  CHECK(base::without_secrets("", secrets).empty());
}
