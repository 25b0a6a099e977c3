// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/replay_load.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "engine/base/check.h"
#include "engine/base/counter_random.h"

namespace orrery {
namespace {

constexpr std::uint32_t kPrompts = 0x50726f6d;  // key of its random stream

// Receives the events of the server's threads.
class LoadReplay {
public:
    LoadReplay(LiveServer& server,
               const std::vector<Request>& requests,
               const std::vector<std::vector<std::int32_t>>& prompts)
        : server_(server), requests_(requests), prompts_(prompts) {
        load_.result.records.resize(requests.size());
        load_.outputs.resize(requests.size());
        last_.resize(requests.size());
    }

    Result<ReplayedLoad> run(const ServingLoad& load) {
        const Time begin = server_.now();
        while (next_ < requests_.size() && server_.status()) {
            if (load.users > 0) {
                wait_for_a_user(load.users);
            } else {
                sleep_until(begin + requests_[next_].arrival);
            }
            send();
        }
        if (Result<void> good = wait_for(0); !good) {
            server_.stop();  // its threads use this object
            return unexpected<Error>(good.error());
        }
        load_.result.instances = server_.totals();
        set_begin(begin);
        return std::move(load_);
    }

private:
    void sleep_until(Time time) const {
        const Time left = time - server_.now();
        if (left > Time{}) {
            std::this_thread::sleep_for(std::chrono::nanoseconds{left.picoseconds() / 1000});
        }
    }
    void wait_for_a_user(std::int64_t users) { (void)wait_for(users - 1); }

    // Waits until at most `most` requests are open, or the server has failed.
    Result<void> wait_for(std::int64_t most) {
        std::unique_lock lock{mutex_};
        while (under_way_ > most) {
            changed_.wait_for(lock, std::chrono::milliseconds{100});
            if (const Result<void> status = server_.status(); !status) {
                return status;
            }
        }
        return server_.status();
    }

    void send() {
        const std::size_t number = next_++;
        {
            const std::scoped_lock lock{mutex_};
            ++under_way_;
        }
        const Submitted sent =
            server_.submit({.prompt = prompts_[number],
                            .output_tokens = requests_[number].output_tokens,
                            .draw = {.temperature = 0},
                            .adapter = requests_[number].adapter},
                           [this, number](const TokenEvent& event) { take(number, event); });
        if (sent.refusal != Refusal::none) {
            const std::scoped_lock lock{mutex_};
            load_.result.records[number].refused = true;
            --under_way_;
        }
    }

    void take(std::size_t number, const TokenEvent& event) {
        const std::scoped_lock lock{mutex_};
        RequestRecord& record = load_.result.records[number];
        const Time at = server_.now();
        Time gap;
        if (event.record.output_tokens > 1) {
            gap = at - last_[number];
            load_.result.token_gaps.push_back(gap);
        }
        const Time longest = std::max(record.longest_gap, gap);
        record = event.record;
        record.longest_gap = longest;
        last_[number] = at;
        load_.outputs[number].push_back(event.token);
        ++load_.result.events;
        if (event.finished) {
            load_.result.end = std::max(load_.result.end, record.last_token);
            --under_way_;
            changed_.notify_all();
        }
    }

    // Makes times relative to the begin of the run.
    void set_begin(Time begin) {
        for (RequestRecord& record : load_.result.records) {
            for (Time* time : {&record.arrival,
                               &record.first_scheduled,
                               &record.first_token,
                               &record.last_token}) {
                *time = *time == Time::max() ? *time : *time - begin;
            }
            if (record.finished()) {
                load_.result.request_picoseconds += record.end_to_end().picoseconds();
            }
        }
        load_.result.end -= begin;
    }

    LiveServer& server_;
    const std::vector<Request>& requests_;
    const std::vector<std::vector<std::int32_t>>& prompts_;
    std::mutex mutex_;
    std::condition_variable changed_;
    ReplayedLoad load_;
    std::vector<Time> last_;
    std::int64_t under_way_ = 0;
    std::size_t next_ = 0;
};

}  // namespace

std::vector<std::vector<std::int32_t>> drawn_prompts(const std::vector<Request>& requests,
                                                     std::int64_t vocabulary,
                                                     std::uint64_t seed) {
    std::vector<std::vector<std::int32_t>> prompts;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        CounterRandom random{seed, i, kPrompts};
        std::vector<std::int32_t>& prompt = prompts.emplace_back();
        for (std::int64_t token = 0; token < requests[i].prompt_tokens; ++token) {
            prompt.push_back(
                static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(vocabulary)));
        }
    }
    return prompts;
}

Result<ReplayedLoad> replay_load(LiveServer& server,
                                 const std::vector<Request>& requests,
                                 const std::vector<std::vector<std::int32_t>>& prompts,
                                 const ServingLoad& load) {
    ORRERY_CHECK(prompts.size() == requests.size());
    return LoadReplay{server, requests, prompts}.run(load);
}

}  // namespace orrery
