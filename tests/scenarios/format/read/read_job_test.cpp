// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace read_job_test {

std::string job_errors(const std::string& text, Job* job = nullptr) {
    Errors errors;
    Job ignored;
    read_job(section_of(text), "folder", job != nullptr ? *job : ignored, errors);
    return lines_of(errors);
}

Job job_of(const std::string& text) {
    Job job;
    EXPECT_EQ(job_errors(text, &job), "") << text;
    return job;
}

TEST(ReadJob, WithoutADatasetStepsAreSimulated) {
    const Job job = job_of("steps: 5\nseed: 7\n");
    EXPECT_EQ(job.steps, 5U);
    EXPECT_EQ(job.seed, 7U);
    EXPECT_TRUE(job.training.dataset.empty());
    EXPECT_NE(job_errors("steps: 1\n"), "");
}

TEST(ReadJob, WithADatasetStepsAreTrained) {
    const Job job = job_of("steps: 100000\ndataset: [a.txt, /b]\nseed: 7\n");
    EXPECT_EQ(job.steps, Job{}.steps);
    EXPECT_EQ(job.training.steps, 100000);
    EXPECT_EQ(job.training.seed, 7U);
    EXPECT_EQ(job.training.dataset, (std::vector<std::filesystem::path>{"folder/a.txt", "/b"}));
    EXPECT_EQ(job.dataset_where, "s.yaml:2:10");
    EXPECT_NE(job_errors("dataset: a.txt\n").find("lacks the key 'steps'"), std::string::npos);
}

TEST(ReadJob, ReadsTheDevice) {
    EXPECT_EQ(job_of("steps: 5\n").training.device, DeviceChoice::automatic);
    EXPECT_EQ(job_of("device: auto\n").training.device, DeviceChoice::automatic);
    EXPECT_EQ(job_of("device: cpu\n").training.device, DeviceChoice::cpu);
    EXPECT_NE(job_errors("device: tpu\n").find("one of auto, cpu, cuda"), std::string::npos);
}

TEST(ReadJob, FillsEveryKeyOfATrainingJob) {
    const Job job = job_of(
        "{steps: 1, dataset: a, device: cuda, seed: 2, learning_rate: 0.5, min_learning_rate: "
        "0.25, "
        "warmup_steps: 3, weight_decay: 0.75, clip_grad: 4, adam_beta1: 0.5, adam_beta2: 0.625, "
        "adam_epsilon: 0.125, log_interval: 5, eval_interval: 6, eval_steps: 7, "
        "validation_share: 0.375, checkpoint_folder: runs/a, checkpoint_interval: 8, "
        "initial_weights: /b.safetensors, offload_folder: runs/o}");
    const TrainingJob expected{.device = DeviceChoice::cuda,
                               .dataset = {"folder/a"},
                               .steps = 1,
                               .seed = 2,
                               .learning_rate = 0.5,
                               .min_learning_rate = 0.25,
                               .warmup_steps = 3,
                               .weight_decay = 0.75,
                               .clip_grad = 4,
                               .adam_beta1 = 0.5,
                               .adam_beta2 = 0.625,
                               .adam_epsilon = 0.125,
                               .log_interval = 5,
                               .eval_interval = 6,
                               .eval_steps = 7,
                               .validation_share = 0.375,
                               .checkpoint_folder = "folder/runs/a",
                               .checkpoint_interval = 8,
                               .initial_weights = "/b.safetensors",
                               .offload_folder = "folder/runs/o"};
    EXPECT_EQ(job.training, expected);
}

TEST(ReadJob, ErrorsNameTheirPlace) {
    EXPECT_NE(job_errors("dataset: {a: b}\nsteps: 2\n").find("s.yaml:1:1: error: job.dataset must"),
              std::string::npos);
    EXPECT_NE(job_errors("dataset: []\nsteps: 2\n").find("job.dataset is empty"),
              std::string::npos);
    EXPECT_NE(job_errors("learning_rate: -1\n").find("s.yaml:1:16: error: "), std::string::npos);
    EXPECT_NE(job_errors("learning_rate: 0.1\nmin_learning_rate: 0.2\n").find("larger than"),
              std::string::npos);
    EXPECT_NE(job_errors("checkpoint: x\n").find("not supported yet"), std::string::npos);
    EXPECT_EQ(job_errors("{checkpoint_folder: '', checkpoint_interval: 5, log_file: ''}\n"), "");
    EXPECT_NE(job_errors("checkpoint_interval: 5\n").find("needs a job.checkpoint_folder"),
              std::string::npos);
    EXPECT_NE(
        job_errors("{checkpoint_folder: a, checkpoint_interval: 0}\n").find("s.yaml:1:45: error: "),
        std::string::npos);
    EXPECT_NE(job_errors("checkpoint_folder: [a]\n").find("s.yaml:1:20: error: "),
              std::string::npos);
    EXPECT_NE(job_errors("dropout: 0\n").find("unknown key"), std::string::npos);
    EXPECT_NE(job_errors("[1]\n").find("job must be a map"), std::string::npos);
}

}  // namespace read_job_test
}  // namespace orrery
