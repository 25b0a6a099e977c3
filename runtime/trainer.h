// SPDX-License-Identifier: Apache-2.0
// The loop around the Program: writes the data and device scalars, runs a step, reads the loss. All
// other work of training is in the Program.
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

// `stored`: a checkpoint or a file will be loaded next.
enum class FirstWeights : std::uint8_t { drawn, stored };

class Trainer {
public:
    // Lowers model and plan, allocates memory on job.device and initialises the weights. The data
    // must be longer than a sample. This process is one rank of the job; the transport that joins
    // the ranks must outlive the trainer.
    static Result<std::unique_ptr<Trainer>> create(const Transformer& model,
                                                   const ParallelPlan& plan,
                                                   const TrainingJob& job,
                                                   const Tokens& tokens,
                                                   Transport* transport = nullptr,
                                                   FirstWeights weights = FirstWeights::drawn);

    // Runs the next step. The report is the same on every rank, apart from its time. Fails if the
    // loss or the gradient norm is not finite, or if another rank does not answer.
    Result<StepReport> step();
    // The mean loss over the held-out tokens, always on the same samples.
    Result<double> evaluate();

    // Resumes a saved run from the folder's latest checkpoint, or from the folder of one step. If
    // the checkpoint has at least the requested number of steps, nothing is left to train.
    Result<void> resume(const std::filesystem::path& folder);
    // Saves a checkpoint of all ranks together into job.checkpoint_folder.
    Result<void> save(FileSystem& files = disk());
    std::int64_t steps_done() const { return steps_done_; }

    RunState state() const;
    double drawing_s() const { return drawing_s_; }  // time for drawing the first weights

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
    // Tensors of the Program.
    TensorId tokens_{};
    TensorId labels_{};
    TensorId scalars_{};
    TensorId loss_{};
    TensorId norm_{};
    // The data of the next step, drawn on another thread while the device works. It is the last
    // member, so that the thread ends before the members that it reads.
    std::int64_t next_step_ = 0;
    std::future<Result<std::vector<TokenBatch>>> next_data_;
};

// The outputs for a run's reports. Every rank makes the reports, and one of them prints.
struct Reports {
    std::function<void(const std::string&)> line;
    TrainingLog* log = nullptr;  // may be null
    Tokenizer tokenizer{};       // of the data, for texts from the model
    // For a supervised run, else empty: called before each step, and instead of Trainer::save().
    std::function<Result<void>(Trainer&)> before_step{};
    std::function<Result<void>(Trainer&)> save{};
};
// Runs the remaining steps of a run. Reports a line every `log_interval` steps, and a line for each
// evaluation (iteration_line.h), each text from the model and each checkpoint.
Result<void> train(Trainer& trainer,
                   const ParallelPlan& plan,
                   const TrainingJob& job,
                   const Reports& reports);

}  // namespace orrery
