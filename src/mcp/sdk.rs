//! What functions of the mini-app's SDK take, where that is known. The native side of some crashes the host app when it is
//! given anything else, so they are checked before they are called.

use serde_json::Value;

/// What one argument must be.
enum Shape {
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
}

/// Functions that take one object with one field.
const WITH_OPTIONS: [(&str, &str, Shape); 4] = [
    ("setDeviceOrientation", "type", Shape::OneOf(&["portrait", "landscape"])),
    ("setIosSwipeGestureEnabled", "isEnabled", Shape::Flag),
    ("setSecureScreen", "enabled", Shape::Flag),
    ("setScreenAwakeMode", "enabled", Shape::Flag),
];

/// Functions that take nothing.
const WITHOUT_ARGUMENTS: [&str; 10] = [
    "appLogin",
    "closeView",
    "getClipboardText",
    "getDeviceId",
    "getLocale",
    "getNetworkStatus",
    "getOperationalEnvironment",
    "getPlatformOS",
    "getSchemeUri",
    "getTossAppVersion",
];

/// Checks a call. What is to be borne in mind, if it may be made.
///
/// # Errors
/// What is wrong with the arguments.
pub(super) fn check(name: &str, args: &[Value]) -> Result<Option<String>, String> {
    if WITHOUT_ARGUMENTS.contains(&name) {
        return match args {
            [] => Ok(None),
            _ => Err(format!("{name} takes no arguments; the host app may crash when it is given some.")),
        };
    }
    let Some((_, field, shape)) = WITH_OPTIONS.iter().find(|(known, ..)| *known == name) else {
        return Ok(Some(format!("What {name} takes is not known here, so its arguments were not checked.")));
    };
    let fits = match args {
        [Value::Object(options)] if options.len() == 1 => options.get(*field).is_some_and(|value| shape.fits(value)),
        _ => false,
    };
    if fits { Ok(None) } else { Err(format!("{name} takes one object, {{\"{field}\": {}}}.", shape.words())) }
}

impl Shape {
    fn fits(&self, value: &Value) -> bool {
        match self {
            Self::OneOf(texts) => value.as_str().is_some_and(|text| texts.contains(&text)),
            Self::Flag => value.is_boolean(),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::OneOf(texts) => texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(" | "),
            Self::Flag => "true | false".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn wrong_arguments_never_reach_the_app() {
        assert_eq!(check("getLocale", &[]), Ok(None));
        assert!(check("getLocale", &[json!({})]).is_err());
        assert_eq!(check("setDeviceOrientation", &[json!({ "type": "landscape" })]), Ok(None));
        for args in
            [json!([]), json!(["landscape"]), json!([{ "type": "up" }]), json!([{ "type": "portrait", "x": 1 }])]
        {
            let error = check("setDeviceOrientation", args.as_array().unwrap()).unwrap_err();
            assert!(error.contains(r#"{"type": "portrait" | "landscape"}"#), "{error}");
        }
        assert!(check("setSecureScreen", &[json!({ "enabled": "yes" })]).is_err());
        assert!(check("share", &[json!({ "message": "x" })]).unwrap().unwrap().contains("not checked"));
    }
}
