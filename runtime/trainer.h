// SPDX-License-Identifier: Apache-2.0
// The loop around the Program: data in, device scalars in, a step, the loss out. Everything else
// that training does is in the Program.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "models/transformer/transformer.h"
#include "runtime/checkpoint.h"
#include "runtime/data/sampling.h"
#include "runtime/data/tokenizer.h"
#include "runtime/executor.h"
#include "runtime/log/training_log.h"
#include "runtime/training_job.h"

namespace orrery {

struct StepReport {
    std::int64_t step = 0;  // from 1
    std::int64_t consumed_samples = 0;
    double seconds = 0;
    double learning_rate = 0;
    double loss = 0;
    double gradient_norm = 0;
};

// Random ones, or what a checkpoint or a file has, which comes next.
enum class FirstWeights : std::uint8_t { drawn, stored };

class Trainer {
public:
    // Lowers model and plan, allocates on job.device, initialises. The data must be longer than a
    // sample. Of a job of several ranks this is one; the transport that joins them must outlive the
    // trainer.
    static Result<std::unique_ptr<Trainer>> create(const Transformer& model,
                                                   const ParallelPlan& plan,
                                                   const TrainingJob& job,
                                                   const Tokens& tokens,
                                                   Transport* transport = nullptr,
                                                   FirstWeights weights = FirstWeights::drawn);

    // The next step; the same report on every rank, but for its time. Fails where the loss or the
    // gradient is not a number, or another rank does not answer.
    Result<StepReport> step();
    // Mean loss over the held-out tokens, always the same samples.
    Result<double> evaluate();

    // Goes on after the steps of a saved run: the folder's latest checkpoint, or that of one step.
    // They may be as many as are asked for, or more: then nothing is left to train.
    Result<void> resume(const std::filesystem::path& folder);
    // Of all ranks together, into job.checkpoint_folder.
    Result<void> save(FileSystem& files = disk());
    std::int64_t steps_done() const { return steps_done_; }

    RunState state() const;
    double drawing_s() const { return drawing_s_; }  // of the first weights

    Executor& executor() { return *executor_; }
    const Program& program() const { return *program_; }
    const Transformer& model() const { return model_; }

private:
    Trainer(const Transformer& model, const ParallelPlan& plan, const TrainingJob& job);
    void find_tensors();
    Result<void> split_data(const Tokens& tokens);
    Result<std::vector<TokenBatch>> draw_data(const Tokens& tokens,
                                              std::uint64_t seed,
                                              std::int64_t step) const;
    void load_data(const std::vector<TokenBatch>& micro_batches);
    Result<std::vector<TokenBatch>> data_of(std::int64_t step);
    void draw_ahead(std::int64_t step);
    void write_scalars(std::int64_t step, double learning_rate);
    Result<double> loss();

    Transformer model_;
    ParallelPlan plan_;
    TrainingJob job_;
    std::unique_ptr<Program> program_;
    std::unique_ptr<Executor> executor_;
    Tokens training_;
    Tokens validation_;
    std::int64_t steps_done_ = 0;
    double drawing_s_ = 0;
    // Of the Program.
    TensorId tokens_{};
    TensorId labels_{};
    TensorId scalars_{};
    TensorId loss_{};
    TensorId norm_{};
    // The data of a step that comes, drawn on another thread while a device works. The last member:
    // it ends before what it reads.
    std::int64_t next_step_ = 0;
    std::future<Result<std::vector<TokenBatch>>> next_data_;
};

// Where a run's reports go; every rank makes them, and one of them tells.
struct Reports {
    std::function<void(const std::string&)> line;
    TrainingLog* log = nullptr;  // may be null
    Tokenizer tokenizer{};       // of the data: for texts from the model
    // Of a supervised run, or empty: what comes before each step, and instead of Trainer::save().
    std::function<Result<void>(Trainer&)> before_step{};
    std::function<Result<void>(Trainer&)> save{};
};
// The steps that are left of a run: a line every `log_interval` steps, for each evaluation
// (iteration_line.h), each text from the model and each checkpoint.
Result<void> train(Trainer& trainer,
                   const ParallelPlan& plan,
                   const TrainingJob& job,
                   const Reports& reports);

}  // namespace orrery
