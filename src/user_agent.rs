//! What a user agent string tells of engine and device, for people and artifacts; never to decide anything.

/// For example `Chrome 156.0`, `Safari 18.5`, `WebKit 605.1`; empty when nothing is known.
pub fn engine(user_agent: &str) -> String {
    // The order matters: Chrome claims to be Safari, and everybody claims to be WebKit. A WebView of iOS names neither.
    let names = [
        ("EdgA/", "Edge"),
        ("Edg/", "Edge"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("CriOS/", "Chrome for iOS"),
        ("HeadlessChrome/", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Version/", "Safari"),
        ("AppleWebKit/", "WebKit"),
    ];
    let found = names.iter().find_map(|(mark, name)| Some((name, after(user_agent, mark)?)));
    found.map_or_else(String::new, |(name, version)| format!("{name} {}", major_minor(version)))
}

/// For example `iPhone, iOS 18.5`, `Pixel 8, Android 14`, `Linux x86_64`; empty when nothing is known.
pub fn device(user_agent: &str) -> String {
    let Some(inside) = after(user_agent, "(").and_then(|rest| rest.split(')').next()) else { return String::new() };
    let mut parts = inside.split(';').map(str::trim);
    if let Some(kind) = ["iPhone", "iPad", "iPod"].iter().find(|kind| inside.starts_with(**kind)) {
        let version = after(inside, "OS ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        return format!("{kind}, iOS {}", version.replace('_', ".")).trim_end_matches(", iOS ").to_owned();
    }
    if let Some(system) = parts.find(|part| part.starts_with("Android")) {
        let model = parts.next().and_then(|part| part.split(" Build/").next()).unwrap_or_default();
        // The reduced form of newer Chromes says `K` for every phone, and WebViews add `wv`.
        let real = !matches!(model, "" | "K" | "wv" | "Mobile" | "Tablet");
        return if real { format!("{model}, {system}") } else { system.to_owned() };
    }
    match inside.split(';').map(str::trim).collect::<Vec<_>>().as_slice() {
        ["X11", "CrOS", ..] => "ChromeOS".to_owned(),
        ["X11", system, ..] => (*system).to_owned(),
        [first, ..] if first.starts_with("Macintosh") => "Mac".to_owned(),
        [first, ..] if first.starts_with("Windows") => "Windows".to_owned(),
        _ => String::new(),
    }
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

fn major_minor(version: &str) -> String {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version[..end].split('.').take(2).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_and_devices_are_named() {
        let cases = [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36",
                "Chrome 156.0",
                "Linux x86_64",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
                "Safari 18.5",
                "iPhone, iOS 18.5",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
                "WebKit 605.1",
                "iPhone, iOS 17.4.1",
            ),
            (
                "Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UQ1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/120.0.6099.43 Mobile Safari/537.36",
                "Chrome 120.0",
                "Pixel 8, Android 14",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; SM-G973F) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/99.0.1.2 Mobile Safari/537.36",
                "Chrome 99.0",
                "SM-G973F, Android 10",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15",
                "Safari 18.0",
                "Mac",
            ),
            ("", "", ""),
            ("curl/8.0", "", ""),
        ];
        for (user_agent, browser, machine) in cases {
            assert_eq!((engine(user_agent).as_str(), device(user_agent).as_str()), (browser, machine), "{user_agent}");
        }
    }
}
