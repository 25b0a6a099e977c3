// SPDX-License-Identifier: Apache-2.0
#include "runtime/trainer.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "engine/base/check.h"
#include "engine/program/device_scalars.h"
#include "models/lowering/lowering.h"
#include "runtime/expert_loads.h"
#include "runtime/generate.h"
#include "runtime/learning_rate.h"
#include "runtime/log/iteration_line.h"
#include "runtime/make_executor.h"
#include "runtime/state/initialise.h"
#include "runtime/state/redistribute.h"
#include "runtime/state/training_state.h"

namespace orrery {
namespace {

// The tensor of this name that the executor's rank has, for some micro-batches or for the step.
// Stages differ: the first one has the tokens, the last one the labels and the loss. If the rank
// has none, any tensor of the name.
TensorId find_tensor(Executor& executor, std::string_view name, std::int64_t micro_batches) {
    const Program& program = executor.program();
    std::optional<TensorId> found;
    const auto has = [&](TensorId id) {
        std::int32_t m = -1;
        while (m < micro_batches && !executor.has(id, m)) {
            ++m;
        }
        return m < micro_batches;
    };
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
        const auto id = to_id<TensorId>(t);
        if (program.tensors[t].name == name && (!found || has(id))) {
            found = id;
        }
    }
    ORRERY_CHECK(found);
    return *found;
}

// `ids` are of whole sequences. Writes the ids at the positions that the rank holds.
void write_ids(TensorView to,
               const std::vector<std::int32_t>& ids,
               const SequencePositions& positions) {
    if (to.empty()) {
        return;  // the tensor is on another stage
    }
    const std::int64_t batch = to.size / positions.length;
    ORRERY_CHECK(to.dtype == Dtype::int32 && to.size == batch * positions.length);
    for (std::int64_t s = 0; s < positions.length; ++s) {
        std::memcpy(to.data + s * batch * size_bytes(to.dtype),
                    ids.data() + positions.of(s) * batch,
                    static_cast<std::size_t>(batch * size_bytes(to.dtype)));
    }
}

}  // namespace

Trainer::Trainer(const Transformer& model, const ParallelPlan& plan, const TrainingJob& job)
    : model_(model),
      plan_(plan),
      job_(job),
      program_(std::make_unique<Program>(lower(model, plan.launched_from_cpp()))) {}

Result<std::unique_ptr<Trainer>> Trainer::create(const Transformer& model,
                                                 const ParallelPlan& plan,
                                                 const TrainingJob& job,
                                                 const Tokens& tokens,
                                                 Transport* transport,
                                                 FirstWeights weights) {
    std::unique_ptr<Trainer> trainer{new Trainer(model, plan, job)};
    if (Result<void> split = trainer->split_data(tokens); !split) {
        return unexpected<Error>(split.error());
    }
    const auto rank = static_cast<RankId>(transport == nullptr ? 0 : transport->rank());
    auto executor =
        make_executor(job.device,
                      *trainer->program_,
                      rank,
                      transport,
                      {.ranks_of_node = job.ranks_of_node, .offload_folder = job.offload_folder});
    if (!executor) {
        return unexpected<Error>(executor.error());
    }
    trainer->executor_ = std::move(*executor);
    trainer->find_tensors();
    if (weights == FirstWeights::drawn) {
        const auto begin = std::chrono::steady_clock::now();
        initialise_weights(*trainer->executor_, {.seed = job.seed, .num_layers = model.num_layers});
        trainer->drawing_s_ =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return trainer;
}

void Trainer::find_tensors() {
    const auto find = [&](std::string_view name) {
        return find_tensor(*executor_, name, plan_.num_micro_batches());
    };
    tokens_ = find("tokens");
    labels_ = find("labels");
    scalars_ = find("device scalars");
    loss_ = find("loss");
    norm_ = find("gradient norm");
}

Result<void> Trainer::split_data(const Tokens& tokens) {
    const auto held_out = static_cast<std::int64_t>(
        static_cast<double>(tokens.size()) * (job_.eval_steps > 0 ? job_.validation_share : 0));
    const std::int64_t sample = model_.seq_length + 1;
    if (tokens.size() - held_out < sample || (job_.eval_steps > 0 && held_out < sample)) {
        return fail("job.dataset",
                    fmt::format("{} tokens, {} of them held out, are too few for samples of {}",
                                tokens.size(),
                                held_out,
                                sample),
                    "more data, a shorter model.seq_length, or another job.validation_share");
    }
    training_ = tokens.part(0, tokens.size() - held_out);
    validation_ = tokens.part(tokens.size() - held_out, held_out);
    return {};
}

// Every rank draws the samples of its part of the batch. Does not change the trainer.
Result<std::vector<TokenBatch>> Trainer::draw_data(const Tokens& tokens,
                                                   std::uint64_t seed,
                                                   std::int64_t step) const {
    const SampleOrder order{.seed = seed, .seq_length = model_.seq_length};
    const Tensor& ids = program_->tensors[index(tokens_)];
    const std::int64_t of_all_ranks = ids.global_shape[kBatch];
    const DimensionRange samples = local_range(
        of_all_ranks, kBatch, ids.layout, program_->mesh_of(executor_->rank()), executor_->rank());
    std::vector<TokenBatch> micro_batches;
    for (std::int64_t m = 0; m < plan_.num_micro_batches(); ++m) {
        auto batch = draw_batch(tokens,
                                order,
                                model_.vocab_size,
                                step,
                                m * of_all_ranks + samples.first,
                                samples.count);
        if (!batch) {
            Error error = batch.error();
            error.where = "job.dataset";
            return unexpected<Error>(std::move(error));
        }
        micro_batches.push_back(std::move(*batch));
    }
    return micro_batches;
}

// Stores the ids that the rank's stage reads.
void Trainer::load_data(const std::vector<TokenBatch>& micro_batches) {
    const SequencePositions positions =
        token_positions(*program_, executor_->rank(), program_->tensors[index(tokens_)]);
    for (std::size_t m = 0; m < micro_batches.size(); ++m) {
        const auto number = static_cast<std::int32_t>(m);
        write_ids(executor_->overwrite(tokens_, number), micro_batches[m].inputs, positions);
        write_ids(executor_->overwrite(labels_, number), micro_batches[m].labels, positions);
    }
}

Result<std::vector<TokenBatch>> Trainer::data_of(std::int64_t step) {
    if (next_data_.valid() && next_step_ == step) {
        return next_data_.get();
    }
    return draw_data(training_, job_.seed, step);
}

// While a device computes, the host draws the next data.
void Trainer::draw_ahead(std::int64_t step) {
    if (executor_->overlaps() && step <= job_.steps) {
        next_step_ = step;
        next_data_ = std::async(std::launch::async,
                                [this, step] { return draw_data(training_, job_.seed, step); });
    }
}

void Trainer::write_scalars(std::int64_t step, double learning_rate) {
    const TensorView block = executor_->view(scalars_);
    const auto set = [&](DeviceScalar scalar, double value) {
        store(block, static_cast<std::int64_t>(scalar), static_cast<float>(value));
    };
    set(DeviceScalar::loss_scale,
        1.0 / static_cast<double>(plan_.global_batch_size * model_.seq_length));
    set(DeviceScalar::learning_rate, learning_rate);
    set(DeviceScalar::beta1, job_.adam_beta1);
    set(DeviceScalar::beta2, job_.adam_beta2);
    set(DeviceScalar::epsilon, job_.adam_epsilon);
    set(DeviceScalar::weight_decay, job_.weight_decay);
    set(DeviceScalar::clip_norm, job_.clip_grad);
    set(DeviceScalar::step, static_cast<double>(step));
    set(DeviceScalar::balance, model_.moe_aux_loss_coeff);
    set(DeviceScalar::bias_update, model_.moe_router_bias_update_rate);
    const bool trains = step > 0;
    set(DeviceScalar::dropout, trains ? model_.dropout : 0);
    const auto set_bits = [&](DeviceScalar scalar, std::uint64_t bits) {
        store(block,
              static_cast<std::int64_t>(scalar),
              std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    };
    set_bits(DeviceScalar::seed_low, job_.seed);
    set_bits(DeviceScalar::seed_high, job_.seed >> 32);
    const std::int64_t micro_batches = plan_.global_batch_size / plan_.micro_batch_size;
    set_bits(DeviceScalar::first_round, static_cast<std::uint64_t>((step - 1) * micro_batches));
}

// The ranks of the last stage have the losses of their samples; tensor-parallel ranks have equal
// ones, of which the first counts.
Result<double> Trainer::loss() {
    const Party& party = program_->parties[program_->party_of(executor_->rank())];
    const Mesh& mesh = party.mesh;
    const Tensor& labels = program_->tensors[index(labels_)];
    bool counts = executor_->has(loss_);
    for (std::uint32_t digit = 0; digit < mesh.digits().size(); ++digit) {
        const bool repeats =
            digit != party.role_digit && labels.layout[digit].placement != Placement::shard;
        counts = counts && (!repeats || mesh.coordinate(executor_->rank(), digit) == 0);
    }
    float sum = counts ? load(executor_->read(loss_), 0) : 0.0f;
    if (Communicator* ranks = executor_->world()) {
        const Result<void> done = ranks->all_reduce(view_of({&sum, 1}));
        if (!done) {
            return unexpected<Error>(done.error());
        }
    }
    return static_cast<double>(sum);
}

Result<StepReport> Trainer::step() {
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t step = steps_done_ + 1;
    StepRecorder* const recorder = executor_->recorder();
    if (recorder != nullptr) {
        recorder->begin_step(step);
    }
    const LearningRate schedule{.largest = job_.learning_rate,
                                .smallest = job_.min_learning_rate,
                                .warmup_steps = job_.warmup_steps,
                                .decay_steps = job_.steps};
    const auto data = data_of(step);
    if (!data) {
        return unexpected<Error>(data.error());
    }
    load_data(*data);
    write_scalars(step, schedule.at(step));
    draw_ahead(step + 1);
    if (Result<void> done = executor_->run_step(); !done) {
        return unexpected<Error>(done.error());
    }
    if (recorder != nullptr) {
        recorder->begin_loss();
    }
    const Result<double> mean_loss = loss();
    if (!mean_loss) {
        return unexpected<Error>(mean_loss.error());
    }
    if (recorder != nullptr) {
        recorder->end_step();
    }
    steps_done_ = step;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const StepReport report{
        .step = step,
        .consumed_samples = step * plan_.global_batch_size,
        .seconds = seconds.count(),
        .learning_rate = schedule.at(step),
        .loss = *mean_loss,
        .gradient_norm = std::sqrt(static_cast<double>(load(executor_->read(norm_), 0)))};
    if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
        return fail(
            {.where = fmt::format("step {}", step),
             .what = fmt::format(
                 "the loss is {} and the gradient norm {}", report.loss, report.gradient_norm),
             .hint = "a smaller job.learning_rate, or a longer warm-up",
             .cause = ErrorCause::wrong_numbers});
    }
    return report;
}

Result<double> Trainer::evaluate() {
    // Samples from other places than the training's
    constexpr std::uint64_t kOtherPlaces = 0x9E3779B97F4A7C15ULL;
    double sum = 0;
    for (std::int64_t i = 0; i < job_.eval_steps; ++i) {
        const auto data = draw_data(validation_, job_.seed ^ kOtherPlaces, i);
        if (!data) {
            return unexpected<Error>(data.error());
        }
        load_data(*data);
        write_scalars(0, 0);
        if (Result<void> done = executor_->run_forward(); !done) {
            return unexpected<Error>(done.error());
        }
        const Result<double> mean_loss = loss();
        if (!mean_loss) {
            return unexpected<Error>(mean_loss.error());
        }
        sum += *mean_loss;
    }
    return sum / static_cast<double>(job_.eval_steps);
}

RunState Trainer::state() const {
    return {.model = model_,
            .precision = std::string{name(plan_.precision)},
            .main_params_dtype = std::string{name(plan_.main_params_dtype)},
            .seed = job_.seed,
            .global_batch_size = plan_.global_batch_size,
            .step = steps_done_,
            .consumed_samples = steps_done_ * plan_.global_batch_size};
}

Result<void> Trainer::resume(const std::filesystem::path& folder) {
    const Result<RunState> saved = resume_training(*executor_, state(), folder);
    if (!saved) {
        return unexpected<Error>(saved.error());
    }
    steps_done_ = saved->step;
    return {};
}

Result<void> Trainer::save(FileSystem& files) {
    return save_training(*executor_, state(), job_.checkpoint_folder, files);
}

namespace {

// Whether an action that is done every `interval` steps, and at the end, is due.
bool is_due(std::int64_t step, std::int64_t interval, const TrainingJob& job) {
    return step == job.steps || (interval > 0 && step % interval == 0);
}

// Means over the steps since the last line.
class StepMeans {
public:
    void add(const StepReport& report) {
        seconds_ += report.seconds;
        losses_ += report.loss;
        ++steps_;
    }
    StepReport take(const StepReport& last) {
        StepReport mean = last;
        mean.seconds = seconds_ / static_cast<double>(steps_);
        mean.loss = losses_ / static_cast<double>(steps_);
        *this = {};
        return mean;
    }

private:
    double seconds_ = 0;
    double losses_ = 0;
    std::int64_t steps_ = 0;
};

Result<void> evaluate(Trainer& trainer, const Reports& reports) {
    const Result<double> loss = trainer.evaluate();
    if (!loss) {
        return unexpected<Error>(loss.error());
    }
    reports.line(validation_line(trainer.steps_done(), *loss));
    if (reports.log != nullptr) {
        reports.log->validation(trainer.steps_done(), *loss);
    }
    return {};
}

Result<void> sample(Trainer& trainer, const TrainingJob& job, const Reports& reports) {
    constexpr double kTemperature = 0.8;
    const std::string prompt = job.sample_prompt.empty() ? "\n" : job.sample_prompt;
    const auto step = trainer.steps_done();
    const auto tokens = generate_tokens(trainer.executor(),
                                        trainer.model(),
                                        reports.tokenizer.encode(prompt),
                                        job.sample_tokens,
                                        {.temperature = kTemperature,
                                         .seed = job.seed + static_cast<std::uint64_t>(step),
                                         .vocabulary = reports.tokenizer.vocabulary()});
    if (!tokens) {
        return unexpected<Error>(tokens.error());
    }
    const std::string text = reports.tokenizer.decode(*tokens);
    reports.line(fmt::format(" sample at iteration {} | {}", step, json_string(prompt + text)));
    if (reports.log != nullptr) {
        reports.log->sample(step, prompt, text);
    }
    return {};
}

// Call it before an evaluation, whose tokens would change the counts.
Result<void> tell_experts(Trainer& trainer, const Reports& reports) {
    const auto loads = expert_loads(trainer.executor());
    if (!loads) {
        return unexpected<Error>(loads.error());
    }
    if (!loads->empty()) {
        reports.line(experts_line(trainer.steps_done(), summary_of(*loads)));
        if (reports.log != nullptr) {
            reports.log->experts(trainer.steps_done(), *loads);
        }
    }
    return {};
}

// The actions that are due after a step.
Result<void> after_step(Trainer& trainer, const TrainingJob& job, const Reports& reports) {
    const std::int64_t step = trainer.steps_done();
    Result<void> done;
    if (job.eval_steps > 0 && is_due(step, job.eval_interval, job)) {
        done = evaluate(trainer, reports);
    }
    if (done && job.sample_interval > 0 && is_due(step, job.sample_interval, job)) {
        done = sample(trainer, job, reports);
    }
    if (done && !job.checkpoint_folder.empty() && is_due(step, job.checkpoint_interval, job)) {
        done = reports.save ? reports.save(trainer) : trainer.save();
        if (done && !reports.save) {
            reports.line(fmt::format(" saved checkpoint {}", checkpoint_name(step)));
        }
    }
    return done;
}

}  // namespace

Result<void> train(Trainer& trainer,
                   const ParallelPlan& plan,
                   const TrainingJob& job,
                   const Reports& reports) {
    StepMeans means;
    while (trainer.steps_done() < job.steps) {
        if (reports.before_step) {
            if (Result<void> done = reports.before_step(trainer); !done) {
                return done;
            }
        }
        const Result<StepReport> report = trainer.step();
        if (!report) {
            return unexpected<Error>(report.error());
        }
        means.add(*report);
        if (is_due(report->step, job.log_interval, job)) {
            const StepReport mean = means.take(*report);
            reports.line(iteration_line(mean, job.steps, plan.global_batch_size));
            if (reports.log != nullptr) {
                reports.log->step(mean);
            }
            if (Result<void> told = tell_experts(trainer, reports); !told) {
                return told;
            }
        }
        if (Result<void> done = after_step(trainer, job, reports); !done) {
            return done;
        }
    }
    return {};
}

}  // namespace orrery
