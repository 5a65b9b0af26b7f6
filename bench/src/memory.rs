//! What a process holds in memory.

/// The resident bytes of a process: its number, or `self`.
pub fn resident_bytes(process: &str) -> Result<f64, String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("VmRSS is not told here")?;
    let kibibytes: f64 =
        line.trim().trim_end_matches("kB").trim().parse().map_err(|_| "VmRSS is not a number".to_string())?;
    Ok(kibibytes * 1024.0)
}
