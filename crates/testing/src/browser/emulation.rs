//! What the browser pretends to be, and pictures of what it then shows. These orders are Chromium's own, and hold for all pages until the
//! next one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::Browser;

/// What a page is asked to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageTheme {
    /// Dark text on a light page.
    Light,
    /// Light text on a dark page.
    Dark,
}

impl PageTheme {
    /// Both.
    pub const ALL: [PageTheme; 2] = [PageTheme::Light, PageTheme::Dark];

    /// As a style sheet names it.
    pub fn name(self) -> &'static str {
        match self {
            PageTheme::Light => "light",
            PageTheme::Dark => "dark",
        }
    }
}

/// Below this width the browser is a phone's: the page's own word about the width of its view counts, as it does there.
const PHONE: u32 = 600;

impl Browser {
    /// Makes the view so wide and so high, in pixels of a style sheet.
    #[track_caller]
    pub fn set_size(&self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < PHONE });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Asks pages to be dark or light.
    #[track_caller]
    pub fn set_theme(&self, theme: PageTheme) {
        let feature = json!({ "name": "prefers-color-scheme", "value": theme.name() });
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Lets the scripts of pages run, or not. [`Browser::script`] works all the same.
    #[track_caller]
    pub fn set_scripts_enabled(&self, enabled: bool) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": !enabled }));
    }

    /// A picture of the whole page, as wide as the view, as PNG.
    #[track_caller]
    pub fn screenshot(&self) -> Vec<u8> {
        let metrics = self.devtools("Page.getLayoutMetrics", json!({}));
        self.picture(&metrics["cssLayoutViewport"]["clientWidth"], &metrics["cssContentSize"]["height"])
    }

    /// A picture of the first part of the page, as wide and as high as the view, as PNG.
    #[track_caller]
    pub fn screenshot_of_view(&self) -> Vec<u8> {
        let view = &self.devtools("Page.getLayoutMetrics", json!({}))["cssLayoutViewport"];
        self.picture(&view["clientWidth"], &view["clientHeight"])
    }

    #[track_caller]
    fn picture(&self, width: &Value, height: &Value) -> Vec<u8> {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.devtools("Page.captureScreenshot", parameters);
        let bytes = BASE64.decode(picture["data"].as_str().unwrap_or_default());
        bytes.unwrap_or_else(|error| panic!("the browser's picture is not in base64: {error}"))
    }
}
