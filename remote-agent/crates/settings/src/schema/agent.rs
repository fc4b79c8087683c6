//! `[agent]`

use super::{Key, Kind, table};

table! {
    /// How the model is spoken to.
    pub struct Agent {
        /// Replaces the base persona; the rules of the program that follow it stay.
        system_prompt: Option<String> = None, Kind::Text;
        /// A file to read the persona from, relative to the file that names it. It wins over `system_prompt`.
        system_prompt_file: Option<String> = None, Kind::Text, InsideProject;
        /// The sampling temperature. 0 leaves it to the provider.
        temperature: f64 = 0.0, Kind::Float(0.0, 2.0);
        /// At which share of the context window history is compacted.
        compact_ratio: f64 = 0.80, Kind::Float(0.30, 0.85);
    }
    later &[
        Key::later("reasoning_language", Kind::Text, &["`auto`, `zh` or `en`."]),
        Key::later("planner_model", Kind::Text, &["A second model that plans."]),
        Key::later("plan_mode_writes", Kind::Text, &["`preset` or `block`: what writes do before a plan is approved."]),
        Key::later("vision_model", Kind::Text, &["The model for images."]),
        Key::later("web_search_model", Kind::Text, &["The model for web searches."]),
        Key::later("guardian_model", Kind::Text, &["A model that reviews calls."]),
        Key::later("subagent_model", Kind::Text, &["The model of sub-agents."]),
        Key::later("subagent_effort", Kind::Text, &["The effort of sub-agents."]),
        Key::later("subagent_models", Kind::TextMap, &["Models by profile."]),
        Key::later("subagent_efforts", Kind::TextMap, &["Efforts by profile."]),
        Key::later("max_subagent_depth", Kind::Integer(0, 64), &["How deep sub-agents nest."]),
        Key::later("max_subagent_concurrency", Kind::Integer(1, 32), &["How many sub-agents run at once."]),
        Key::later("max_parallel_writers", Kind::Integer(1, 32), &["How many of them may write."]),
        Key::later("output_style", Kind::Text, &["`explanatory`, `learning`, `concise` or a style's name."]),
        Key::later("goal_token_budget", Kind::Integer(0, i64::MAX), &["Tokens for a goal; 0 is no limit."]),
        Key::later("task_cost_budget", Kind::Float(0.0, f64::MAX), &["Cost of a task; 0 is no limit."]),
        Key::later("task_time_budget_minutes", Kind::Integer(i64::MIN, i64::MAX), &["Minutes for a task; 0 is no limit."]),
        Key::later("max_steps", Kind::Anything, &["Retired."]),
        Key::later("planner_max_steps", Kind::Anything, &["Retired."]),
        Key::later("keep", Kind::Anything, &["Retired."]),
        Key::later("recent_keep", Kind::Anything, &["Retired."]),
        Key::later("plan_mode_read_only_commands", Kind::Anything, &["Retired."]),
        Key::later("soft_compact_ratio", Kind::Anything, &["Retired."]),
        Key::later("tool_result_snip_ratio", Kind::Anything, &["Retired."]),
        Key::later("compact_force_ratio", Kind::Anything, &["Retired."]),
        Key::later("cold_resume_prune", Kind::Anything, &["Retired."]),
        Key::later("context_editing", Kind::Anything, &["Retired."]),
        Key::later("auto_plan", Kind::Anything, &["Retired."]),
        Key::later("auto_plan_classifier", Kind::Anything, &["Retired."]),
        Key::later("recovery_model", Kind::Anything, &["Retired."]),
        Key::later("memory_compiler", Kind::Anything, &["Retired."]),
        Key::later("completion_validation", Kind::Anything, &["Retired."]),
    ];
}
