// SPDX-License-Identifier: Apache-2.0
// `train --record` and `--trace`, and what `calibrate` makes of it, of ranks on the simulated
// device.
#include "scenarios/studies/measure/recorded_run.h"

#include <fstream>
#include <map>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/run_recorder.h"
#include "scenarios/studies/measure/observed_costs.h"
#include "scenarios/studies/measure/predicted_run.h"
#include "tests/runtime/cuda/simulated_training.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr std::int64_t kRecordedSteps = 7;

// As train_command() goes about it.
void record(const Scenario& scenario, const std::filesystem::path& folder, ProcessWorld& world) {
    TrainingJob job = scenario.job.training;
    job.device = DeviceChoice::cuda;
    auto trainer =
        Trainer::create(scenario.model, scenario.plan, job, some_text(), world.transport.get());
    ASSERT_TRUE(trainer) << trainer.error().to_string();
    const auto recorder = RunRecorder::start({.folder = folder / "run",
                                              .trace_file = folder / "trace.json",
                                              .scenario = &scenario,
                                              .profile_file = {}},
                                             world,
                                             (*trainer)->executor());
    ASSERT_TRUE(recorder) << recorder.error().to_string();
    for (std::int64_t s = 0; s < kRecordedSteps; ++s) {
        const auto report = (*trainer)->step();
        ASSERT_TRUE(report) << report.error().to_string();
    }
    const auto written = (*recorder)->finish();
    ASSERT_TRUE(written) << written.error()[0].to_string();
}

std::string two_gpus(const TestFolder& folder) {
    folder.write("text.txt", std::string(4096, 'x'));
    return folder.write(
        "s.yaml",
        "cluster: {nodes: 1, node: {base: dgx-h100, gpus_per_node: 2}}\n"
        "model: {num_layers: 2, hidden_size: 16, num_attention_heads: 2, seq_length: 8,"
        " vocab_size: 32}\n"
        "plan: {tensor_model_parallel_size: 2, sequence_parallel: true, micro_batch_size: 1,"
        " global_batch_size: 2, precision: fp32}\n"
        "job: {steps: 5, dataset: text.txt, eval_steps: 0, learning_rate: 1.0e-3}\n");
}

class RecordedCudaRun : public testing::Test {
protected:
    void SetUp() override {
        const auto scenario = read_scenario(two_gpus(folder_));
        ASSERT_TRUE(scenario) << scenario.error()[0].to_string();
        scenario_ = *scenario;
        run_as_ranks(2, [&](std::unique_ptr<Transport> transport) {
            simulated::begin_device(11 + transport->rank());
            ProcessWorld world{
                .rank = transport->rank(), .num_ranks = 2, .transport = std::move(transport)};
            record(scenario_, folder_ / "", world);
        });
        auto run = read_recorded_run(folder_ / "run");
        ASSERT_TRUE(run) << run.error()[0].to_string();
        run_ = std::move(*run);
    }

    TestFolder folder_;
    Scenario scenario_;
    RecordedRun run_;
};

TEST_F(RecordedCudaRun, HasEveryOpOfEveryStepInTheOrderOfItsStream) {
    EXPECT_TRUE(run_.description.overlaps);
    EXPECT_NE(run_.description.machine.find("simulated"), std::string::npos);
    ASSERT_EQ(run_.steps.size(), static_cast<std::size_t>(kRecordedSteps));
    for (const MeasuredStep& step : run_.steps) {
        EXPECT_TRUE(step.undisturbed());
        EXPECT_EQ(step.replayed, step.duration());
        for (const RankId rank : {RankId{0}, RankId{1}}) {
            const Role& role = run_.program.roles[index(run_.program.role_of(rank))];
            std::size_t ops = 0;
            for (const auto& slot : role.slots) {
                ops += run_.program.segment_of(slot).ops.size();
            }
            EXPECT_EQ(step.of_rank(rank).size(), ops);
            std::map<StreamId, Time> ends;
            for (const TracedOp& op : step.of_rank(rank)) {
                Time& end = ends[run_.program.segment_of(role.slots[op.slot]).ops[op.op].stream];
                EXPECT_GE(op.start + Time::seconds(1e-6), end);  // floats of milliseconds
                EXPECT_LE(op.data_start, op.end);
                end = op.end;
            }
            EXPECT_GE(ends.size(), 2u);  // compute, and tensor-parallel communication
        }
    }
}

TEST_F(RecordedCudaRun, CalibratesKernelsAndCollectivesForThePrediction) {
    const auto steps = best_steps(run_.steps);
    EXPECT_EQ(steps.size(), static_cast<std::size_t>(kRecordedSteps) - 1);  // but the first
    const MachineProfile profile =
        observed_costs(run_.program, steps, scenario_.device.name, run_.sharing_ranks());
    EXPECT_EQ(profile.kernels.size(), run_.program.kernels.size());
    EXPECT_TRUE(profile.hosts.empty());
    ASSERT_FALSE(profile.transfers.empty());
    for (const TransferEntry& transfer : profile.transfers) {
        EXPECT_EQ(transfer.time.ranks, 2u);
        EXPECT_GT(transfer.time.median, Time{});
        EXPECT_GE(transfer.time.samples, 4);
    }
    for (const ProfileEntry& kernel : profile.kernels) {
        EXPECT_EQ(kernel.ranks, 1u);
        EXPECT_GT(kernel.median, Time{});
    }
    const std::string csv = folder_.write("machine.csv", profile_csv(profile, "simulated"));
    const auto before = predict_run(scenario_, "");
    const auto with_profile = predict_run(scenario_, csv);
    ASSERT_TRUE(before && with_profile);
    // CPU kernels on small models: no H100 is as slow.
    EXPECT_GT(with_profile->answer.iteration, before->answer.iteration);
}

TEST_F(RecordedCudaRun, IsDrawnBesideThePrediction) {
    std::ifstream file{folder_ / "trace.json"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    EXPECT_NE(text.find("measured"), std::string::npos);
    EXPECT_NE(text.find("attention backward"), std::string::npos);
}

}  // namespace
}  // namespace orrery
