//! As much of Markdown as is needed to find links and headings.

/// A link and the line it is on, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    pub line: usize,
    pub target: String,
}

/// The lines outside of fenced code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let trimmed = line.trim_start();
        let marks = ["```", "~~~"];
        match fence {
            Some(open) if trimmed.starts_with(open) => fence = None,
            Some(_) => {}
            None => match marks.into_iter().find(|mark| trimmed.starts_with(mark)) {
                Some(open) => fence = Some(open),
                None => return Some((index + 1, line)),
            },
        }
        None
    })
}

/// Every target of `[text](target)`, `[name]: target`, `href="target"` and `src="target"`.
pub fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, content) in prose(text) {
        let content = without_code(content);
        let mut add = |target: &str| {
            // A title may follow the target, and angle brackets may enclose it.
            let target = target.split_whitespace().next().unwrap_or_default();
            let target = target.trim_start_matches('<').trim_end_matches('>');
            found.push(Link {
                line,
                target: target.to_owned(),
            });
        };
        for (open, close) in [("](", ')'), ("href=\"", '"'), ("src=\"", '"')] {
            for rest in content.split(open).skip(1) {
                add(rest.split(close).next().unwrap_or_default());
            }
        }
        if let Some((name, target)) = content.split_once("]: ")
            && name.starts_with('[')
            && !name.starts_with("[^")
        {
            add(target);
        }
    }
    found
}

/// The line without its `code`.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The anchors of the headings, as GitHub makes them.
pub fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(title.trim());
        let mut unique = anchor.clone();
        let mut repeated = 0;
        while found.contains(&unique) {
            repeated += 1;
            unique = format!("{anchor}-{repeated}");
        }
        found.push(unique);
    }
    found
}

fn anchor(title: &str) -> String {
    let mut text = String::new();
    let mut rest = title;
    // Of a link in a heading only its text counts.
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text.chars()
        .filter_map(|character| match character {
            ' ' => Some('-'),
            '-' | '_' => Some(character),
            _ if character.is_alphanumeric() => Some(character),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Link, anchors, links};

    #[test]
    fn links_in_all_forms() {
        let text = "[a](x.md) and ![b](y.png \"title\")\n```\n[no](code.md)\n```\n\
                    `[no](code.md)` <img src=\"z.svg\">\n[name]: <w.md>\n[^1]: a note\n";
        let targets: Vec<_> = links(text)
            .into_iter()
            .map(|Link { line, target }| (line, target))
            .collect();
        let wanted = [(1, "x.md"), (1, "y.png"), (5, "z.svg"), (6, "w.md")];
        assert_eq!(
            targets,
            wanted.map(|(line, target)| (line, target.to_owned()))
        );
    }

    #[test]
    fn anchors_as_github_makes_them() {
        let text = "# Use `mcprove run`!\n## A [link](x.md), too\n# no-space_kept\n#tag\n\
                    ~~~\n# code\n~~~\n## A link, too\n";
        assert_eq!(
            anchors(text),
            [
                "use-mcprove-run",
                "a-link-too",
                "no-space_kept",
                "a-link-too-1"
            ]
        );
    }
}
